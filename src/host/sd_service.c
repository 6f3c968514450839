/* SPDX-License-Identifier: MIT
 *
 * sd_service.c - what the service manager is told, and when: ready, status, reloading, draining, alive.
 *
 * Owns the watchers for it. A hung worker must not go unnoticed: the manager gets a keep-alive only after
 * every worker has answered its own ping. Main thread.
 */
#include "weir/host/sd_service.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"

#define STATUS_EVERY_S 5.
#define READY_AGAIN_S  0.5
/* While draining, how often we notify the manager and by how much each message extends its timeout. If
 * control hangs, the manager's deadline still expires. */
#define DRAIN_EVERY_S	5.
/* Bytes of the status after its list of backends. */
#define STATUS_REST 128u
#define DRAIN_EXTEND_US 30000000ll

static void on_look(struct ev_loop *loop, struct ev_prepare *prepare, int revents);
static void on_again(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_drain(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_watchdog(struct ev_loop *loop, struct ev_timer *timer, int revents);

static bool is_on(const struct sd_service *s)
{
	return s->notify.fd >= 0 && s->loop != NULL;
}

static size_t count_usable(const struct backend *b)
{
	size_t usable = 0;

	for (size_t i = 0; i < b->server_count; i++)
		usable += server_usable(b->servers[i]) && server_weight_now(b->servers[i]) > 0 ? 1 : 0;
	return usable;
}

/* "no server up: web, db; ", or nothing. Leaves room for the rest of the status. */
static size_t put_down(const struct engine *e, char *buf, size_t room)
{
	const size_t most = room > STATUS_REST ? room - STATUS_REST : 0;
	size_t len = 0;
	unsigned left_out = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < e->backend_count; i++) {
		const char *name = e->backends[i]->config->name;

		if (count_usable(e->backends[i]) > 0)
			continue;
		if (left_out > 0 || len + strlen(name) + sizeof("no server up: ") > most)
			left_out++;
		else
			len += (size_t)snprintf(buf + len, room - len, "%s%s",
						len == 0 ? "no server up: " : ", ", name); /* measured */
	}
	if (left_out > 0)
		len += (size_t)snprintf(buf + len, room - len, "%s%u more",
					len == 0 ? "no server up: " : ", ", left_out); /* STATUS_REST */
	if (len > 0)
		len += (size_t)snprintf(buf + len, room - len, "; "); /* as above */
	return len;
}

const char *sd_service_status(struct engine *e, char *buf, size_t room)
{
	size_t servers = 0, usable = 0;
	size_t frontends = 0;
	size_t len = put_down(e, buf, room);

	for (size_t i = 0; i < e->backend_count; i++) {
		servers += e->backends[i]->server_count;
		usable += count_usable(e->backends[i]);
	}
	entries_foreach_frontend(&e->entries, fe)
		frontends++;
	/* A truncated line will do. */
	(void)snprintf(buf + len, room - len, "%zu frontend%s, %zu/%zu servers usable, %llu sessions",
		       frontends, frontends == 1 ? "" : "s", usable, servers,
		       (unsigned long long)engine_sum(e, sessions));
	return buf;
}

/* The status as it is sent, after words about reloads and the note. `buf` has SD_SERVICE_STATUS_MAX
 * bytes. */
static const char *full_status(const struct sd_service *s, char *buf)
{
	const char *about = s->reloading ? "reloading; " : s->refused ? "last reload refused; " : "";
	/* Fits: both are shorter than what SD_SERVICE_STATUS_MAX has for them. */
	const int len = snprintf(buf, SD_SERVICE_STATUS_MAX, "%s%s%s", about, s->note,
				 s->note[0] != '\0' ? "; " : "");

	(void)sd_service_status(s->engine, buf + len, SD_SERVICE_STATUS_MAX - (size_t)len);
	return buf;
}

/* Sends `lines` (each with its newline) and the status, unless there are no lines and the status is
 * unchanged. False if the manager's queue is full. */
static bool inform(struct sd_service *s, const char *lines, const char *status)
{
	char text[SD_SERVICE_STATUS_MAX + SD_SERVICE_TEXT_MAX];

	s->told_at = ev_now(s->loop);
	if (lines[0] == '\0' && strcmp(status, s->told) == 0)
		return true;
	(void)snprintf(s->told, sizeof(s->told), "%s", status);
	(void)snprintf(text, sizeof(text), "%sSTATUS=%s", lines, status); /* both are short */
	return sd_notify_send(&s->notify, text);
}

/* ---- keep-alive ---- */

static void look_for_answers(struct sd_service *s)
{
	unsigned first = 0;

	if (s->notify.watchdog_ns == 0 || s->alive_told || engine_silent_workers(s->engine, &first) > 0)
		return;
	s->alive_told = true;
	(void)sd_notify_send(&s->notify, "WATCHDOG=1"); /* there are two per interval */
}

static void ask_workers(struct sd_service *s)
{
	s->alive_told = false;
	engine_ping(s->engine);
}

/* Runs at half the interval. A complete round of pings is followed by the next. */
static void on_watchdog(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct sd_service *s = timer->data;
	unsigned first = 0;
	unsigned silent;

	(void)loop;
	(void)revents;
	look_for_answers(s);
	if (s->alive_told) {
		ask_workers(s);
		return;
	}
	silent = engine_silent_workers(s->engine, &first);
	log_line(LOG_LEVEL_ERROR,
		 "watchdog: %u of %u workers do not answer (worker %u is one); no keep-alive is sent, so the "
		 "service manager will end this process",
		 silent, s->engine->worker_count, first);
}

/* ---- events ---- */

static void on_look(struct ev_loop *loop, struct ev_prepare *prepare, int revents)
{
	struct sd_service *s = prepare->data;
	const double since = ev_now(loop) - s->told_at; /* negative if the clock was set back */
	char status[SD_SERVICE_STATUS_MAX];

	(void)revents;
	look_for_answers(s);
	if (s->closing || (since >= 0. && since < STATUS_EVERY_S))
		return;
	(void)inform(s, "", full_status(s, status)); /* superseded if lost */
}

static void start_watchers(struct sd_service *s)
{
	const double half = (double)s->notify.watchdog_ns / (2. * (double)NS_PER_SEC);

	ev_prepare_init(&s->look, on_look);
	s->look.data = s;
	ev_prepare_start(s->loop, &s->look);
	ev_timer_init(&s->again, on_again, READY_AGAIN_S, 0.);
	s->again.data = s;
	ev_timer_init(&s->drain, on_drain, DRAIN_EVERY_S, DRAIN_EVERY_S);
	s->drain.data = s;
	ev_timer_init(&s->watchdog, on_watchdog, half, half);
	s->watchdog.data = s;
	if (s->notify.watchdog_ns > 0) {
		ev_timer_start(s->loop, &s->watchdog);
		ask_workers(s);
	}
}

/* Sends one of the messages that no later one replaces: without READY the manager gives up on us, and without
 * RELOADING it waits for a reload that has ended long ago. */
static void send_surely(struct sd_service *s, const char *lines)
{
	char status[SD_SERVICE_STATUS_MAX];

	ev_timer_stop(s->loop, &s->again);
	if (inform(s, lines, full_status(s, status)))
		return;
	ev_timer_set(&s->again, READY_AGAIN_S, 0.);
	ev_timer_start(s->loop, &s->again);
}

static void say_ready(struct sd_service *s)
{
	char lines[64];

	/* The process that the manager started may have been our parent. */
	(void)snprintf(lines, sizeof(lines), "READY=1\nMAINPID=%d\n", (int)getpid());
	send_surely(s, lines);
}

/* The manager compares the time with that of its own request. */
static void say_reloading(struct sd_service *s)
{
	char lines[64];

	(void)snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%lld\n",
		       (long long)(clock_mono_ns() / NS_PER_US));
	send_surely(s, lines);
}

static void on_again(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct sd_service *s = timer->data;

	(void)loop;
	(void)revents;
	if (s->closing)
		return;
	if (s->reloading)
		say_reloading(s);
	else
		say_ready(s);
}

void sd_service_ready(struct sd_service *s, struct ev_loop *loop, struct engine *e)
{
	check(s->loop == NULL);
	if (s->notify.fd < 0)
		return;
	s->loop = loop;
	s->engine = e;
	start_watchers(s);
	say_ready(s);
}

void sd_service_reloading(struct sd_service *s)
{
	if (!is_on(s) || s->closing)
		return;
	s->reloading = true;
	say_reloading(s);
}

void sd_service_reloaded(struct sd_service *s, bool fine)
{
	if (!is_on(s) || s->closing)
		return;
	s->reloading = false;
	s->refused = !fine;
	say_ready(s);
}

void sd_service_note(struct sd_service *s, const char *note)
{
	(void)snprintf(s->note, sizeof(s->note), "%s", note); /* may be truncated */
}

static void say_closing(struct sd_service *s)
{
	char status[SD_SERVICE_TEXT_MAX];
	char lines[96];
	const unsigned long long left = engine_sum(s->engine, sessions);

	(void)snprintf(status, sizeof(status), "%s, %llu session%s%s", s->leaving ? "leaving" : "draining",
		       left, left == 1 ? "" : "s", s->leaving ? "" : " left");
	(void)snprintf(lines, sizeof(lines), "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld\n", DRAIN_EXTEND_US);
	(void)inform(s, lines, status); /* on_drain() repeats it */
}

/* Until hard-stop-after has expired; without it, for as long as there are sessions. */
static void on_drain(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	say_closing(timer->data);
}

static void close_slowly(struct sd_service *s, bool leaving)
{
	if (!is_on(s) || (s->closing && !s->leaving))
		return;
	s->closing = true;
	s->leaving = leaving;
	say_closing(s);
	ev_timer_again(s->loop, &s->drain);
}

void sd_service_leaving(struct sd_service *s)
{
	close_slowly(s, true);
}

void sd_service_draining(struct sd_service *s)
{
	close_slowly(s, false);
}

void sd_service_stopping(struct sd_service *s)
{
	char status[SD_SERVICE_TEXT_MAX];

	if (!is_on(s))
		return;
	s->closing = true;
	ev_timer_stop(s->loop, &s->drain);
	(void)snprintf(status, sizeof(status), "stopping, open: %llu",
		       (unsigned long long)engine_sum(s->engine, sessions));
	(void)inform(s, "STOPPING=1\n", status); /* the end of the process says the same */
}

void sd_service_failed(struct sd_service *s, const char *text)
{
	char line[SD_SERVICE_TEXT_MAX * 2];

	if (s->notify.fd < 0)
		return;
	(void)snprintf(line, sizeof(line), "STATUS=%s", text); /* may be truncated */
	(void)sd_notify_send(&s->notify, line); /* the log has it too */
}

void sd_service_open(struct sd_service *s)
{
	memset(s, 0, sizeof(*s));
	if (sd_notify_open(&s->notify) != 0)
		log_line(LOG_LEVEL_WARNING, "NOTIFY_SOCKET is not a usable Unix socket; the service "
					    "manager will receive no messages");
}

void sd_service_close(struct sd_service *s)
{
	if (is_on(s)) {
		ev_prepare_stop(s->loop, &s->look);
		ev_timer_stop(s->loop, &s->again);
		ev_timer_stop(s->loop, &s->drain);
		ev_timer_stop(s->loop, &s->watchdog);
	}
	s->loop = NULL;
	sd_notify_close(&s->notify);
}
