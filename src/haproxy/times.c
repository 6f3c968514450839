/* SPDX-License-Identifier: MIT
 *
 * times.c - the timeouts of a section.
 *
 * `timeout tunnel` is a backend's, and holds for both sides once they are connected: a frontend has the
 * timeout-client for it. One that a frontend itself says has no effect in HAProxy. Main thread.
 */
#include <limits.h>
#include <string.h>

#include "sections.h"
#include "weir/config/haproxy_time.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

/* ---- the backends of a frontend ---- */

void haproxy_each_back(struct haproxy *h, struct proxy *front, void (*take)(void *data, struct proxy *back),
		       void *data)
{
	bool all = false;
	const char *name;

	if (front->kind == PROXY_LISTEN && front->lists[LIST_SERVER].count > 0)
		take(data, front);
	for (size_t i = 0; (name = haproxy_target(front, i)) != NULL; i++) {
		struct proxy *back = haproxy_find(h, BACKENDS, name);

		all = all || back == NULL; /* HAProxy computes the name */
		if (back != NULL && back != front && back->out != NULL)
			take(data, back);
	}
	for (size_t i = 0; all && i < h->count; i++)
		if (IS_BACK(h->proxies[i]) && h->proxies[i]->out != NULL && h->proxies[i] != front)
			take(data, h->proxies[i]);
}

/* ---- how long the client's side may be idle ---- */

long long haproxy_time_of(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	const long long ms = slot_ms(h, p, slot);

	return ms > 0 ? ms : HAPROXY_FOREVER;
}

struct idle {
	struct haproxy *h;
	struct proxy *front;
	struct haproxy_limit limit; /* the longest */
	bool several;		    /* not all backends say the same */
};

static void take_back(void *data, struct proxy *back)
{
	struct idle *idle = data;
	const bool tunnel = slot_on(back, SLOT_TUNNEL);
	const struct haproxy_limit limit = {tunnel ? back : idle->front, tunnel ? SLOT_TUNNEL : SLOT_CLIENT};
	const long long ms = haproxy_time_of(idle->h, limit.p, limit.slot);
	const long long before = idle->limit.p != NULL
				     ? haproxy_time_of(idle->h, idle->limit.p, idle->limit.slot)
				     : ms;

	idle->several = idle->several || ms != before;
	if (idle->limit.p == NULL || ms > before)
		idle->limit = limit;
}

static struct idle find_idle(struct haproxy *h, struct proxy *front)
{
	struct idle idle = {.h = h, .front = front};

	haproxy_each_back(h, front, take_back, &idle);
	if (idle.limit.p == NULL)
		idle.limit = (struct haproxy_limit){front, SLOT_CLIENT};
	return idle;
}

struct haproxy_limit haproxy_client_idle(struct haproxy *h, struct proxy *front)
{
	return find_idle(h, front).limit;
}

/* ---- the lines ---- */

/* Is it a duration that 31 bits of milliseconds do not hold? */
static bool is_too_long(const char *text)
{
	const char *stray;
	int64_t ms;

	return haproxy_time(text, &ms, &stray) == HAPROXY_TIME_OVER;
}

/* Adds what a slot of `from` says to the section of `p`. */
static void add_time_of(struct haproxy *h, struct proxy *p, struct haproxy_limit from, const char *key,
			const char *name)
{
	struct old_line *line = from.p->slots[from.slot].line;
	const char *text = slot_word(from.p, from.slot, 0);
	const char *value = slot_on(from.p, from.slot) ? haproxy_duration(h->arena, text) : NULL;

	if (value != NULL) {
		ini_add(h->ini, p->out, line, key, "%s", value);
		haproxy_say_duration(h, line, value);
	} else if (slot_on(from.p, from.slot) && is_too_long(text)) {
		ini_add(h->ini, p->out, line, key, "24d");
		old_set(h->arena, line, OLD_DIFFERENT,
			"24 days: HAProxy refuses more, or counts from zero again");
	} else if (line != NULL) {
		old_set(h->arena, line, OLD_LOST, "'%s' is not a duration", text);
	} else if (name != NULL) {
		ini_add(h->ini, p->out, NULL, key, "0");
		work_note(h->work, "'%s' has no '%s', so HAProxy never ends an idle or slow one: %s = 0",
			  p->name, name, key);
	}
}

static void add_time(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *name)
{
	add_time_of(h, p, (struct haproxy_limit){p, slot}, key, name);
}

/* Says what became of a timeout that the one of a tunnel replaces. */
static void say_tunnel(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	struct old_line *line = p->slots[slot].line;

	if (line != NULL && line->fate == OLD_OPEN)
		old_set(h->arena, line, OLD_DIFFERENT,
			"timeout tunnel holds from the start, not only after the first bytes");
}

static void add_client_time(struct haproxy *h, struct proxy *p)
{
	const struct idle idle = find_idle(h, p);

	add_time_of(h, p, idle.limit, "timeout-client", "timeout client");
	if (idle.limit.slot != SLOT_TUNNEL)
		return;
	say_tunnel(h, p, SLOT_CLIENT);
	if (idle.several)
		old_set(h->arena, idle.limit.p->slots[SLOT_TUNNEL].line, OLD_DIFFERENT,
			"'%s' has one timeout-client for all its backends: the longest", p->name);
}

void haproxy_times(struct haproxy *h, struct proxy *p)
{
	const bool tunnel = slot_on(p, SLOT_TUNNEL);

	if (IS_BACK(p))
		add_time(h, p, SLOT_CONNECT, "timeout-connect", "timeout connect");
	if (IS_FRONT(p))
		add_client_time(h, p);
	if (IS_BACK(p))
		add_time(h, p, tunnel ? SLOT_TUNNEL : SLOT_SERVER, "timeout-server", "timeout server");
	if (IS_BACK(p) && tunnel)
		say_tunnel(h, p, SLOT_SERVER);
	if (IS_BACK(p) && slot_on(p, SLOT_QUEUE))
		add_time(h, p, SLOT_QUEUE, "timeout-queue", NULL);
	if (IS_FRONT(p))
		haproxy_fin(h, p);
}
