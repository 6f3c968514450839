/* SPDX-License-Identifier: MIT
 *
 * header.c - what HAProxy adds to the PROXY headers that servers get.
 *
 * Most of it is about TLS that HAProxy terminates, and has no value for clients whose TLS is passed through.
 * Main thread.
 */
#include <string.h>

#include "server.h"
#include "weir/base/check.h"

#define OPTIONS "proxy-v2-options"

/* May a client of the section come with a PROXY header? */
static bool takes_headers(const struct haproxy *h, struct proxy *p)
{
	const struct proxy *front;

	for (size_t i = 0; (front = haproxy_leader(h, p, i)) != NULL; i++) {
		for (size_t b = 0; b < front->lists[LIST_BIND].count; b++)
			if (old_has_word(front->lists[LIST_BIND].list[b], 2, "accept-proxy"))
				return true;
		for (size_t r = 0; r < front->lists[LIST_RULE].count; r++)
			if (old_has_word(front->lists[LIST_RULE].list[r], 2, "expect-proxy"))
				return true;
	}
	return false;
}

/* Is it a fact of a client's TLS? */
static bool is_of_tls(const char *option)
{
	static const char *const all[] = {"ssl", "cert-cn", "ssl-cipher", "cert-sig", "cert-key"};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(option, all[i]) == 0)
			return true;
	return false;
}

void server_settle_header(struct haproxy *h, struct proxy *p, struct server *s)
{
	const char *said = server_value(s, OPTIONS);
	struct work_list list = {.count = 0}, kept = {.count = 0};

	if (said == NULL || strchr(said, '$') != NULL)
		return;
	work_list_split(h->arena, &list, said);
	for (size_t i = 0; i < list.count; i++) {
		/* That of the header that the client came with, or of terminated TLS. */
		const bool is_name = strcmp(list.items[i], "authority") == 0;

		if (is_name && takes_headers(h, p)) {
			work_list_add(h->arena, &kept, "pass");
			old_set(h->arena, s->line, OLD_DIFFERENT,
				"the header's fields are passed on for clients in 'trusted' alone, and "
				"all of them");
		} else if (!is_name && !is_of_tls(list.items[i])) {
			work_list_add(h->arena, &kept, list.items[i]);
		}
	}
	server_drop(s, OPTIONS);
	if (kept.count > 0)
		server_set(s, OPTIONS, work_joined(h->arena, kept.items, kept.count, ","));
}
