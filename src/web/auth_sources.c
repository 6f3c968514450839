/* SPDX-License-Identifier: MIT
 *
 * auth_sources.c - who has guessed how often.
 *
 * Owns nothing. Main thread.
 */
#include "auth_sources.h"

#include <stddef.h>
#include <string.h>

#define SIX_PREFIX 8 /* bytes of an IPv6 address that one site has for itself */

struct keyed_hash auth_source_of(const struct keyed_hash_key *key, const struct addr_brief *client,
				 uint32_t uid)
{
	uint8_t bytes[2 + sizeof(client->ip)] = {(uint8_t)client->family};

	switch (client->family) {
	case AF_INET:
		memcpy(bytes + 2, client->ip, 4);
		break;
	case AF_INET6:
		memcpy(bytes + 2, client->ip, SIX_PREFIX);
		break;
	default:
		memcpy(bytes + 2, &uid, sizeof(uid));
		break;
	}
	return keyed_hash_bytes(key, bytes, sizeof(bytes));
}

static bool is_over(const struct auth_source *e, int64_t now_ns)
{
	return e->count == 0 || now_ns - e->since_ns >= AUTH_FAILURES_NS;
}

static const struct auth_source *find(const struct auth_sources *s, struct keyed_hash source, int64_t now_ns)
{
	const struct auth_source *set = s->sets[source.half[0] % AUTH_SOURCE_SETS];

	for (size_t i = 0; i < AUTH_SOURCE_WAYS; i++)
		if (!is_over(&set[i], now_ns) && keyed_hash_same(set[i].key, source))
			return &set[i];
	return NULL;
}

int64_t auth_sources_wait_ns(const struct auth_sources *s, struct keyed_hash source, int64_t now_ns)
{
	const struct auth_source *e = find(s, source, now_ns);

	if (e == NULL || e->count < AUTH_FAILURES)
		return 0;
	return e->since_ns + AUTH_FAILURES_NS - now_ns;
}

/* A place that is free, or the one of the source that began first. */
static struct auth_source *place(struct auth_sources *s, struct keyed_hash source, int64_t now_ns)
{
	struct auth_source *set = s->sets[source.half[0] % AUTH_SOURCE_SETS];
	struct auth_source *best = set;

	for (size_t i = 0; i < AUTH_SOURCE_WAYS; i++) {
		if (is_over(&set[i], now_ns))
			return &set[i];
		if (set[i].since_ns < best->since_ns)
			best = &set[i];
	}
	return best;
}

void auth_sources_add(struct auth_sources *s, struct keyed_hash source, int64_t now_ns)
{
	struct auth_source *e = (struct auth_source *)(uintptr_t)find(s, source, now_ns);

	if (e == NULL) {
		e = place(s, source, now_ns);
		*e = (struct auth_source){.key = source, .since_ns = now_ns};
	}
	e->count++;
}

void auth_sources_take_back(struct auth_sources *s, struct keyed_hash source, int64_t now_ns)
{
	struct auth_source *e = (struct auth_source *)(uintptr_t)find(s, source, now_ns);

	if (e != NULL)
		e->count--;
}
