/* SPDX-License-Identifier: MIT
 *
 * keepalive.c - TCP keepalive: 'option tcpka' and its relatives, and when the kernel probes.
 *
 * Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/config/haproxy_time.h"

/* HAProxy's words for one side, and our key. */
struct side {
	enum slot option;
	enum slot idle; /* and behind it those of the interval and the count */
	const char *key;
};

static const struct side clients = {SLOT_CLITCPKA, SLOT_CLITCPKA_IDLE, "client-keepalive"};
static const struct side servers = {SLOT_SRVTCPKA, SLOT_SRVTCPKA_IDLE, "server-keepalive"};

/* Of these times, HAProxy takes a bare number as seconds, and rounds up to whole ones. */
static const char *time_of(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	const char *text = slot_word(p, slot, 0), *stray;
	int64_t ms;

	if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
		return arena_printf(h->arena, "%ss", text);
	if (haproxy_time(text, &ms, &stray) != HAPROXY_TIME_FINE)
		return text;
	return work_duration(h->arena, (ms + 999) / 1000 * 1000);
}

static bool has_times(const struct proxy *p, const struct side *side)
{
	return slot_on(p, side->idle) || slot_on(p, side->idle + 1) || slot_on(p, side->idle + 2);
}

static void add_side(struct haproxy *h, struct proxy *p, const struct side *side)
{
	const bool both = slot_on(p, SLOT_TCPKA);
	const char *value = "on";

	if (!both && !slot_on(p, side->option))
		return;
	if (slot_on(p, side->idle))
		value = time_of(h, p, side->idle);
	if (slot_on(p, side->idle + 1))
		value = arena_printf(h->arena, "%s interval=%s", value, time_of(h, p, side->idle + 1));
	if (slot_on(p, side->idle + 2))
		value = arena_printf(h->arena, "%s count=%s", value, slot_word(p, side->idle + 2, 0));
	for (enum slot s = side->idle; s <= side->idle + 2; s++)
		if (p->slots[s].line != NULL)
			old_set(h->arena, p->slots[s].line, OLD_CARRIED, NULL);
	slot_add(h, p, both ? SLOT_TCPKA : side->option, side->key, value);
}

void haproxy_keepalive(struct haproxy *h, struct proxy *p)
{
	if (slot_on(p, SLOT_TCPKA) && p->kind == PROXY_LISTEN && !has_times(p, &clients) &&
	    !has_times(p, &servers)) {
		slot_add(h, p, SLOT_TCPKA, "tcp-keepalive", "on");
		return;
	}
	if (IS_FRONT(p))
		add_side(h, p, &clients);
	if (IS_BACK(p))
		add_side(h, p, &servers);
}
