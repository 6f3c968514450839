/* SPDX-License-Identifier: MIT
 *
 * agent_words.c - the answer of an agent: one line in HAProxy's words, taken in pieces and read.
 *
 * Words and texts are those of tcpcheck_agent_expect_reply() of HAProxy 2.6. Any thread.
 */
#include "agent_words.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/base/log.h"

#define BLANKS	" \t,"
#define MAXCONN "maxconn:"

/* ---- the line ---- */

void agent_line_reset(struct agent_line *l)
{
	l->len = 0;
	l->ended = false;
	l->broken = false;
	l->text[0] = '\0';
}

bool agent_line_push(struct agent_line *l, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && !l->ended && !l->broken; i++) {
		if (data[i] == '\n' || data[i] == '\r')
			l->ended = true;
		else if (data[i] == '\0' || l->len == AGENT_LINE_MAX)
			l->broken = true;
		else
			l->text[l->len++] = (char)data[i];
	}
	l->text[l->len] = '\0';
	return l->ended || l->broken;
}

/* ---- its words ---- */

/* One word, as it is in the line. */
struct piece {
	const char *text;
	size_t len;
};

struct reading {
	struct piece health, admin, percent, maxconn, unknown;
	const char *warning; /* static; NULL = none */
	const char *why;     /* what follows a '#' */
};

static bool is(const struct piece *p, const char *word)
{
	return p->len == strlen(word) && strncasecmp(p->text, word, p->len) == 0;
}

static bool is_one_of(const struct piece *p, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is(p, words[i]))
			return true;
	return false;
}

static void sort_in(struct reading *r, const struct piece *p)
{
	static const char *const health[] = {"up", "down", "stopped", "fail"};
	static const char *const admin[] = {"ready", "drain", "maint"};

	if (is_one_of(p, health, ARRAY_LEN(health)))
		r->health = *p;
	else if (is_one_of(p, admin, ARRAY_LEN(admin)))
		r->admin = *p;
	else if (is_digit(p->text[0]) && memchr(p->text, '%', p->len) != NULL)
		r->percent = *p;
	else if (strncasecmp(p->text, MAXCONN, strlen(MAXCONN)) == 0)
		r->maxconn = *p;
	else if (r->unknown.len == 0)
		r->unknown = *p;
}

static void split(struct reading *r, const char *text)
{
	for (;;) {
		struct piece p;

		text += strspn(text, BLANKS);
		if (*text == '\0' || *text == '#')
			break;
		p = (struct piece){text, strcspn(text, BLANKS)};
		sort_in(r, &p);
		text += p.len;
	}
	r->why = *text == '#' ? text + 1 + strspn(text + 1, " \t") : "";
}

/* The number that `text` begins with; what follows goes to `*end`. A greater one than ULONG_MAX is that. */
static unsigned long number(const char *text, const char **end)
{
	char *stop;
	const unsigned long value = strtoul(text, &stop, 10);

	*end = stop;
	return value;
}

static void warn(struct reading *r, const char *text)
{
	if (r->warning == NULL)
		r->warning = text;
}

/* It begins with a digit. */
static void read_percent(struct reading *r, struct agent_words *out)
{
	const char *end;
	const unsigned long value = number(r->percent.text, &end);

	if (end == r->percent.text + r->percent.len - 1 && *end == '%') {
		out->has_percent = true;
		out->percent = value < SERVER_PERCENT_MAX ? (unsigned)value : SERVER_PERCENT_MAX;
	} else if (*end != '%' && value > SERVER_WEIGHT_MAX) {
		warn(r, "Absolute weight can only be between 0 and 256 inclusive.");
	} else {
		warn(r, "Trailing garbage in weight string");
	}
}

static void read_maxconn(struct reading *r, struct agent_words *out)
{
	const char *text = r->maxconn.text + strlen(MAXCONN);
	const char *const last = r->maxconn.text + r->maxconn.len, *end;
	unsigned long value;

	if (text == last) {
		warn(r, "Require <maxconn>.");
		return;
	}
	if (!is_digit(text[0])) {
		warn(r, "maxconn string empty or preceded by garbage");
		return;
	}
	value = number(text, &end);
	if (end != last) {
		warn(r, "Trailing garbage in maxconn string");
	} else if (value > INT_MAX) {
		warn(r, "maxconn can only be between 0 and 2147483647 inclusive.");
	} else {
		out->has_maxconn = true;
		out->maxconn = (unsigned)value;
	}
}

static void read_admin(const struct reading *r, struct agent_words *out)
{
	if (r->admin.len == 0)
		return;
	out->has_admin = true;
	out->admin = SERVER_ADMIN_READY;
	if (is(&r->admin, "drain"))
		out->admin = SERVER_ADMIN_DRAIN;
	else if (is(&r->admin, "maint"))
		out->admin = SERVER_ADMIN_MAINT;
}

/* ---- what to report ---- */

/* A piece of the line, made printable. */
static const char *shown(const struct piece *p, char buf[static PROBE_DETAIL_MAX])
{
	log_escape(p->text, p->len < PROBE_DETAIL_MAX ? p->len : PROBE_DETAIL_MAX, buf, PROBE_DETAIL_MAX);
	return buf;
}

/* The reason of a "down"; otherwise an error goes first, then a warning. */
static struct piece remark(const struct reading *r, enum agent_health health)
{
	struct piece p = {r->why, strlen(r->why)};

	if (p.len > 0 && health == AGENT_SAYS_DOWN)
		return p;
	if (r->unknown.len > 0)
		return r->unknown;
	if (r->warning != NULL)
		return (struct piece){r->warning, strlen(r->warning)};
	return p;
}

static void put_detail(struct agent_words *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put_detail(struct agent_words *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(out->detail, sizeof(out->detail), fmt, ap); /* a cut text will do */
	va_end(ap);
}

static void report(const struct reading *r, struct agent_words *out)
{
	const struct piece what = remark(r, out->health);
	char word[PROBE_DETAIL_MAX], text[PROBE_DETAIL_MAX];

	if (out->health != AGENT_SAYS_NOTHING && what.len > 0)
		put_detail(out, "via agent : %s (%s)", shown(&r->health, word), shown(&what, text));
	else if (out->health != AGENT_SAYS_NOTHING)
		put_detail(out, "via agent : %s", shown(&r->health, word));
	else if (r->unknown.len > 0)
		put_detail(out, "agent reports an error : %s", shown(&r->unknown, text));
	else if (r->warning != NULL)
		put_detail(out, "agent warns : %s", r->warning);
}

void agent_words_read(const struct agent_line *l, struct agent_words *out)
{
	struct reading r = {.warning = NULL};

	check(l->ended);
	*out = (struct agent_words){.code = PROBE_CHECKED};
	split(&r, l->text);
	read_admin(&r, out);
	if (r.percent.len > 0)
		read_percent(&r, out);
	if (r.maxconn.len > 0)
		read_maxconn(&r, out);
	if (r.health.len > 0) {
		out->health = is(&r.health, "up") ? AGENT_SAYS_UP : AGENT_SAYS_DOWN;
		out->code = out->health == AGENT_SAYS_UP ? PROBE_L7OK : PROBE_L7STS;
	}
	report(&r, out);
}
