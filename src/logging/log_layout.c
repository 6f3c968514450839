/* SPDX-License-Identifier: MIT
 *
 * log_layout.c - what surrounds a log text: the time and the level, or what a protocol requires.
 *
 * Relies on texts without control bytes (log.h). Main thread.
 */
#include "log_layout.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir/account/session_format.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define TIME_MAX 64

/* Priority, time, a host of 64 bytes, PID, and once more the time and level in an object. */
static_assert(LOG_TEXT_MAX + 2 * TIME_MAX + 64 + 128 < LOG_LINE_MAX, "a line is never cut");

static const char *utc_time(int64_t wall_ns, char buf[static TIME_MAX])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm); /* fails only if the year exceeds an int */
	(void)snprintf(buf, TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_ns % NS_PER_SEC / NS_PER_MS));
	return buf;
}

/* "Nov 1 10:00:00": English in any locale, and local time, as in RFC 3164. */
static const char *local_time(int64_t wall_ns, char buf[static TIME_MAX])
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;

	(void)localtime_r(&seconds, &tm); /* fails only if the year exceeds an int */
	(void)snprintf(buf, TIME_MAX, "%s %2d %02d:%02d:%02d", months[tm.tm_mon % 12], tm.tm_mday, tm.tm_hour,
		       tm.tm_min, tm.tm_sec);
	return buf;
}

void log_layout_set_format(struct log_layout *l, const char *value)
{
	struct log_format_fault fault;
	const char *text = NULL;

	l->style = log_format_style(value, &text);
	l->format = (struct log_format){0};
	if (text != NULL)
		check(log_format_parse(&l->format, text, &fault) == 0); /* the configuration was validated */
}

void log_layout_find_host(struct log_layout *l)
{
	if (gethostname(l->host, sizeof(l->host)) != 0)
		l->host[0] = '\0';
	l->host[sizeof(l->host) - 1] = '\0';
	for (char *c = l->host; *c != '\0'; c++)
		if (*c <= ' ' || *c > 126)
			*c = '?';
	if (l->host[0] == '\0')
		memcpy(l->host, "-", 2);
}

__attribute__((format(printf, 3, 4))) static void add_printf(char *out, size_t *len, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out + *len, LOG_LINE_MAX - *len, fmt, ap);
	va_end(ap);
	check(n >= 0);
	check((size_t)n < LOG_LINE_MAX - *len);
	*len += (size_t)n;
}

/* When a line was logged, and at which level. */
struct stamp {
	const char *utc;
	const char *local; /* for LOG_HEAD_SYSLOG_LOCAL */
	enum log_level level;
	bool is_bare; /* the text has the time, if anybody wants it */
};

static void add_head(const struct log_layout *l, const struct stamp *s, char *out, size_t *len)
{
	const int priority = l->facility * 8 + (int)s->level;

	switch (l->head) {
	case LOG_HEAD_TIME:
		if (l->style == LOG_STYLE_TEXT && !s->is_bare)
			add_printf(out, len, "%s %s ", s->utc, log_level_word(s->level));
		return;
	case LOG_HEAD_PRIORITY:
		add_printf(out, len, "<%d>", (int)s->level);
		return;
	case LOG_HEAD_SYSLOG_LOCAL:
		add_printf(out, len, "<%d>%s weir[%d]: ", priority, s->local, (int)getpid());
		return;
	case LOG_HEAD_SYSLOG:
		add_printf(out, len, "<%d>1 %s %s weir %d - - ", priority, s->utc, l->host, (int)getpid());
		return;
	}
}

static size_t lay_out(const struct log_layout *l, const struct stamp *s, const char *text, char *out)
{
	size_t len = 0;

	add_head(l, s, out, &len);
	if (l->style == LOG_STYLE_JSON)
		add_printf(out, &len, "{\"ts\":\"%s\",\"level\":\"%s\",%s}\n", s->utc,
			   log_level_word(s->level), text);
	else
		add_printf(out, &len, "%s\n", text);
	return len;
}

void log_layout_frame(const struct log_layout *l, char out[static CRASH_REPORT_FRAME_MAX])
{
	const struct stamp stamp = {CRASH_REPORT_UTC, CRASH_REPORT_LOCAL, LOG_LEVEL_ALERT, false};
	const char *text = CRASH_REPORT_TEXT;
	char line[LOG_LINE_MAX];
	size_t len;

	if (l->style == LOG_STYLE_JSON)
		text = "\"event\":\"message\",\"message\":\"" CRASH_REPORT_TEXT "\"";
	len = lay_out(l, &stamp, text, line);
	check(len < CRASH_REPORT_FRAME_MAX);
	memcpy(out, line, len + 1);
}

bool log_layout_has_format(const struct log_layout *l, const struct log_entry *e)
{
	return l->format.text != NULL && session_record_is(e);
}

size_t log_layout_format(const struct log_layout *l, const struct log_entry *e, char *out, size_t room)
{
	return session_format_line(&l->format, e, out, room);
}

size_t log_layout_line(const struct log_layout *l, const struct log_entry *e, const char *text,
		       char out[static LOG_LINE_MAX])
{
	char utc[TIME_MAX], local[TIME_MAX];
	struct stamp stamp = {.level = e->level, .is_bare = log_layout_has_format(l, e)};

	if (l->style == LOG_STYLE_JSON || l->head == LOG_HEAD_TIME || l->head == LOG_HEAD_SYSLOG)
		stamp.utc = utc_time(e->wall_ns, utc);
	if (l->head == LOG_HEAD_SYSLOG_LOCAL)
		stamp.local = local_time(e->wall_ns, local);
	return lay_out(l, &stamp, text, out);
}

int log_layout_facility(enum config_facility facility)
{
	/* daemon, user, local0 to local7, kern, mail, auth, syslog, lpr, news, uucp, cron, authpriv, ftp,
	 * ntp, audit, alert, cron2 */
	static const uint8_t numbers[] = {3, 1, 16, 17, 18, 19, 20, 21, 22, 23, 0,  2,
					  4, 5, 6,  7,	8,  9,	10, 11, 12, 13, 14, 15};

	check((size_t)facility < ARRAY_LEN(numbers));
	return numbers[facility];
}
