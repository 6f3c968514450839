/* SPDX-License-Identifier: MIT
 *
 * admin_wait.c - `wait`: a client waits for a time, or for a server to become removable.
 *
 * Looks servers up by name each time, because one may be deleted meanwhile. Main thread.
 */
#include "admin_wait.h"

#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/haproxy_time.h"
#include "admin_client.h"

static const char usage[] =
	"Usage: wait {-h|<duration>} [condition [args...]]\n"
	"  - '-h' displays this help\n"
	"  - <duration> is the maximum wait time, optionally suffixed by the unit among\n"
	"    'us', 'ms', 's', 'm', 'h', and 'd'. ; the default unit is milliseconds.\n"
	"  - <condition> indicates what to wait for, no longer than the specified\n"
	"    duration. Supported conditions are:\n"
	"    - <none> : by default, just sleep for the specified duration.\n"
	"    - srv-removable <px>/<sv> : wait for this server to become removable.\n";

/* ---- the command ---- */

/* "B/S"; false after a refusal. Whether there is such a server shows when it looks. */
static bool read_server(const struct admin_call *c, const char *name, struct admin_question *q)
{
	const char *slash = strchr(name, '/');

	if (name[0] == '\0') {
		admin_refuse(c, "Missing server name (<backend>/<server>).",
			     "write: wait %s srv-removable BACKEND/SERVER", c->args[0]);
		return false;
	}
	if (slash == NULL || slash[1] == '\0') {
		admin_refuse(c, "Require 'backend/server'.", "write BACKEND/SERVER, not '%s'", name);
		return false;
	}
	if (strlen(name) >= sizeof(q->server)) {
		admin_refuse(c, "Failed. No such server.", "no server has so long a name");
		return false;
	}
	memcpy(q->server, name, strlen(name) + 1);
	return true;
}

/* "srv-removable B/S", or nothing; false after a refusal. */
static bool read_condition(const struct admin_call *c, struct admin_question *q)
{
	const char *condition = c->args[1];

	q->server[0] = '\0';
	if (condition[0] == '\0')
		return true;
	if (strcmp(condition, "srv-removable") == 0)
		return read_server(c, c->args[2], q);
	if (c->ours)
		admin_refuse(c, NULL, "'wait' knows 'srv-removable BACKEND/SERVER', not '%s'", condition);
	else
		text_printf(c->out, "%s", usage);
	return false;
}

bool admin_read_wait(const struct admin_call *c, struct admin_question *q)
{
	const char *duration = c->args[0], *stray;

	if (strcmp(duration, "-h") == 0) {
		text_printf(c->out, "%s", usage);
		return false;
	}
	if (duration[0] == '\0') {
		admin_refuse(c, "Expects a duration in milliseconds.",
			     "write: wait DURATION [srv-removable BACKEND/SERVER]");
		return false;
	}
	if (haproxy_time(duration, &q->wait_ms, &stray) != HAPROXY_TIME_FINE || q->wait_ms < 1) {
		admin_refuse(c, "Invalid duration.", "'%s' is not a duration; write for example 500ms or 10s",
			     duration);
		return false;
	}
	return read_condition(c, q);
}

/* ---- waiting ---- */

static const struct backend *find_backend(const struct engine *e, const char *name, size_t len)
{
	for (size_t i = 0; i < e->backend_count; i++) {
		const char *own = e->backends[i]->config->name;

		if (strlen(own) == len && memcmp(own, name, len) == 0)
			return e->backends[i];
	}
	return NULL;
}

enum removable { REMOVABLE_YES, REMOVABLE_LATER, REMOVABLE_NEVER };

/* `*why` is static. */
static enum removable look(const struct engine *e, const char *name, const char **why)
{
	const char *slash = strchr(name, '/');
	const struct backend *b = find_backend(e, name, (size_t)(slash - name));

	*why = b == NULL ? "No such backend." : "No such server.";
	for (size_t i = 0; b != NULL && i < b->server_count; i++) {
		const struct server *s = b->servers[i];

		if (strcmp(s->config->name, slash + 1) != 0)
			continue;
		if (run_time_is_removable(s, why))
			return REMOVABLE_YES;
		return s->admin == SERVER_ADMIN_MAINT ? REMOVABLE_LATER : REMOVABLE_NEVER;
	}
	return REMOVABLE_NEVER;
}

/* What there was to wait for did not happen. */
static void refuse(struct client *c, const char *what, const char *why)
{
	const struct admin_call call = {.peer = &c->peer, .ours = c->peer.ours, .out = &c->answer};

	if (c->peer.ours)
		admin_refuse(&call, NULL, "%s %s", what, why);
	else
		admin_say(&call, ADMIN_SAYS_ERROR, "%s %s", what, why);
}

static void say_done(struct client *c)
{
	const struct admin_call call = {.peer = &c->peer, .ours = c->peer.ours, .out = &c->answer};

	admin_say(&call, ADMIN_SAYS_INFO, "Done.");
}

/* A tenth of the whole time at most, and no longer than half of what has passed. */
static void sleep_on(struct client *c, int64_t now_ns)
{
	struct admin_wait *w = &c->waiting;
	const int64_t most_ns = (w->end_ns - w->began_ns) / 10, left_ns = w->end_ns - now_ns;
	int64_t wait_ns = (now_ns - w->began_ns) / 2 + NS_PER_MS;

	if (c->question.server[0] == '\0' || wait_ns > left_ns)
		wait_ns = left_ns;
	else if (wait_ns > most_ns)
		wait_ns = most_ns;
	ev_timer_stop(c->admin->loop, &w->timer);
	ev_timer_set(&w->timer, (double)wait_ns / (double)NS_PER_SEC, 0.);
	ev_timer_start(c->admin->loop, &w->timer);
}

bool admin_wait_go_on(struct client *c)
{
	struct admin_wait *w = &c->waiting;
	const int64_t now_ns = clock_mono_ns();
	enum removable found = REMOVABLE_LATER;
	const char *why = "";

	if (!w->on)
		return false;
	if (c->question.server[0] != '\0')
		found = look(c->admin->ctx->engine, c->question.server, &why);
	if (found == REMOVABLE_LATER && now_ns < w->end_ns) {
		sleep_on(c, now_ns);
		return true;
	}
	admin_wait_forget(c);
	if (found == REMOVABLE_NEVER)
		refuse(c, "Failed.", why);
	else if (found == REMOVABLE_LATER && c->question.server[0] != '\0')
		refuse(c, "Wait delay expired.", why);
	else
		say_done(c);
	return false;
}

void admin_wait_begin(struct client *c)
{
	struct admin_wait *w = &c->waiting;

	check(!w->on);
	w->on = true;
	w->began_ns = clock_mono_ns();
	w->end_ns = w->began_ns + c->question.wait_ms * NS_PER_MS;
}

void admin_wait_forget(struct client *c)
{
	c->waiting.on = false;
	ev_timer_stop(c->admin->loop, &c->waiting.timer);
}

static void on_look_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct client *c = timer->data;

	(void)revents;
	if (c->state == CLIENT_RELOADING)
		ev_feed_event(loop, &c->io, EV_CUSTOM);
}

void admin_wait_init(struct client *c)
{
	c->waiting.on = false;
	ev_init(&c->waiting.timer, on_look_due);
	c->waiting.timer.data = c;
}
