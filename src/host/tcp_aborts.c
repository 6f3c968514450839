/* SPDX-License-Identifier: MIT
 *
 * tcp_aborts.c - TCP connections that the kernel aborted because memory ran out.
 *
 * Owns a timer and the counter as of the last look. Main thread.
 */
#include "weir/host/tcp_aborts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/log.h"
#include "kernel_file.h"

#define TEXT_MAX      32768u
#define GROUP	      "TcpExt:"
#define COLUMN	      "TCPAbortOnMemory"
#define FIRST_LOOK_S  1.
#define LONGEST_PAUSE_S   64.
#define LONGER_BY     4.

/* ---- reading ---- */

/* The start of the `nth` line that begins with GROUP; NULL if there is none. */
static const char *find_line(const char *text, unsigned nth)
{
	while (text != NULL) {
		if (strncmp(text, GROUP, strlen(GROUP)) == 0 && nth-- == 0)
			return text;
		text = strchr(text, '\n');
		text = text != NULL ? text + 1 : NULL;
	}
	return NULL;
}

/* The next word of the line; NULL at its end. */
static const char *next_word(const char *word)
{
	word += strcspn(word, " \n");
	return *word == ' ' ? word + 1 : NULL;
}

bool tcp_aborts_parse(const char *text, uint64_t *count)
{
	const char *name = find_line(text, 0);
	const char *value = find_line(text, 1);
	char *end;

	while (name != NULL && value != NULL &&
	       (strcspn(name, " \n") != strlen(COLUMN) || strncmp(name, COLUMN, strlen(COLUMN)) != 0)) {
		name = next_word(name);
		value = next_word(value);
	}
	if (name == NULL || value == NULL || *value < '0' || *value > '9')
		return false;
	errno = 0;
	*count = strtoull(value, &end, 10);
	return errno == 0 && strchr(" \n", *end) != NULL;
}

static bool read_count(const char *path, uint64_t *count)
{
	char text[TEXT_MAX];

	return kernel_file_read(path, text, sizeof(text)) > 0 && tcp_aborts_parse(text, count);
}

/* ---- looking ---- */

bool tcp_aborts_look(struct tcp_aborts *t, uint64_t *since_start)
{
	uint64_t now;

	if (!t->readable || !read_count(t->path, &now))
		return false;
	if (now > t->previous)
		log_line(LOG_LEVEL_WARNING,
			 "the kernel aborted %llu closed TCP connections of this network namespace because "
			 "TCP memory ran out, and dropped their bytes in flight (ours have unacked_out= in "
			 "their log lines); see tcp_mem and tcp_max_orphans in tcp(7)",
			 (unsigned long long)(now - t->previous));
	t->previous = now;
	*since_start = now - t->first;
	return true;
}

static void set_timer(struct tcp_aborts *t, double pause_s)
{
	ev_timer_stop(t->loop, &t->timer);
	t->pause_s = pause_s;
	ev_timer_set(&t->timer, pause_s, 0.);
	ev_timer_start(t->loop, &t->timer);
}

static void on_look_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct tcp_aborts *t = timer->data;
	uint64_t since_start;

	(void)loop;
	(void)revents;
	if (tcp_aborts_look(t, &since_start) && t->pause_s < LONGEST_PAUSE_S)
		set_timer(t, t->pause_s * LONGER_BY);
}

void tcp_aborts_init(struct tcp_aborts *t, struct ev_loop *loop, const char *path)
{
	memset(t, 0, sizeof(*t));
	t->loop = loop;
	t->path = path;
	t->readable = read_count(path, &t->first);
	t->previous = t->first;
	ev_timer_init(&t->timer, on_look_due, 0., 0.);
	t->timer.data = t;
}

void tcp_aborts_wake(struct tcp_aborts *t, uint64_t closes)
{
	if (!t->readable || closes == t->closes)
		return;
	t->closes = closes;
	/* A timer that expires soon is left alone: steady news would postpone it forever. */
	if (!ev_is_active(&t->timer) || t->pause_s > FIRST_LOOK_S)
		set_timer(t, FIRST_LOOK_S);
}

void tcp_aborts_stop(struct tcp_aborts *t)
{
	if (t->loop != NULL)
		ev_timer_stop(t->loop, &t->timer);
}

void tcp_aborts_publish(void *aborts, figure_report *report, void *to)
{
	static const struct figure row = {"tcp_memory_aborts", FIGURE_TOTAL,
					  "connections the kernel reset because TCP memory ran out"};
	uint64_t count;

	if (tcp_aborts_look(aborts, &count))
		report(to, &row, count);
}
