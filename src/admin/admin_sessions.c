/* SPDX-License-Identifier: MIT
 *
 * admin_sessions.c - which sessions a command is about: `show sess`, `show fd`, `shutdown session`.
 *
 * Only reads the words. Workers find the sessions, and end one (inquiry.h). Main thread.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/clock.h"

static const char help_text[] =
	"Usage: show sess [<id> | all | help] [<options>*]\n"
	"Dumps active streams (formerly called 'sessions'). Available selectors:\n"
	"   <id>         dump only this stream identifier (0x...)\n"
	"   all          dump all matching streams in large format\n"
	"   help         show this message\n"
	"Available options: \n"
	"   older <age>  only display streams older than <age> seconds\n"
	"Without any argument, all streams are dumped in a shorter format.\n";

static void refuse(const struct admin_call *c, const char *haproxy, const char *ours)
{
	c->question->verdict = ADMIN_ANSWERED;
	admin_refuse(c, haproxy, "%s", ours);
}

/* "0x100000005", as HAProxy's, or "0.5", as in log lines. 0 if it is neither. */
static uint64_t read_id(const char *word)
{
	unsigned long long number, first;
	char *end;

	errno = 0;
	first = strtoull(word, &end, 0);
	if (end == word || errno != 0 || word[0] == '-')
		return 0;
	if (*end != '.')
		return first;
	word = end + 1;
	number = strtoull(word, &end, 10);
	if (end == word || *end != '\0' || errno != 0 || first >= UINT_MAX || number > UINT32_MAX)
		return 0;
	return session_key((unsigned)first, (uint32_t)number);
}

/* Rounded up to whole seconds, as in HAProxy. */
static bool read_age(const char *word, int64_t *age_ns)
{
	if (!admin_read_time(word, NS_PER_SEC, age_ns) || *age_ns > INT32_MAX * NS_PER_SEC)
		return false;
	*age_ns = (*age_ns + NS_PER_SEC - 1) / NS_PER_SEC * NS_PER_SEC;
	return true;
}

/* False, with a refusal, if that is not an option. */
static bool read_options(const struct admin_call *c, unsigned from)
{
	while (from < c->arg_count) {
		if (strcmp(c->args[from], "older") != 0) {
			c->question->verdict = ADMIN_ANSWERED;
			text_printf(c->out, "%sUnsupported option '%s', try 'help' for more info.\n",
				    c->ours ? "error: " : "", c->args[from]);
			return false;
		}
		if (from + 1 == c->arg_count) {
			refuse(c, "Expects a minimum age (in seconds by default).",
			       "'older' needs an age, such as 10m");
			return false;
		}
		if (!read_age(c->args[from + 1], &c->question->filter.min_age_ns)) {
			refuse(c, "Invalid age.",
			       "the age is not a number with one of the units us, ms, s, m, h, d");
			return false;
		}
		/* HAProxy shows them in full; a line each suits people better. */
		if (!c->ours)
			c->question->shown = SHOWN_LARGE;
		from += 2;
	}
	return true;
}

void admin_ask_sess(const struct admin_call *c)
{
	struct admin_question *q = c->question;
	unsigned used = 0;

	q->shown = SHOWN_LINES;
	if (c->arg_count > 0 && strcmp(c->args[0], "help") == 0) {
		q->verdict = ADMIN_ANSWERED;
		text_add(c->out, help_text, strlen(help_text));
		return;
	}
	if (c->arg_count > 0 && strcmp(c->args[0], "all") == 0) {
		q->shown = SHOWN_LARGE;
		used = 1;
	} else if (c->arg_count > 0 && (q->filter.session = read_id(c->args[0])) != 0) {
		q->shown = c->ours ? SHOWN_DETAIL : SHOWN_LARGE;
		used = 1;
	}
	(void)read_options(c, used); /* if it refuses, that is the answer */
}

void admin_shutdown_session(const struct admin_call *c)
{
	const uint64_t id = c->arg_count > 0 ? read_id(c->args[0]) : 0;

	if (id == 0) {
		refuse(c, "Session pointer expected (use 'show sess').",
		       "write the id of a session, 0x... or as in log lines (see 'show sess')");
		return;
	}
	c->question->shown = SHOWN_NOT;
	c->question->filter = (struct inquiry_filter){.session = id, .kill = true};
}

const char *admin_no_sessions(const struct admin_question *q)
{
	if (q->shown == SHOWN_NOT)
		return q->ours ? "error: no session has this id (see 'show sess')\n" :
				 "No such session (use 'show sess').\n";
	if ((q->shown == SHOWN_LARGE || q->shown == SHOWN_DETAIL) && q->filter.session != 0)
		return q->ours ? "error: no session has this id (see 'show sess')\n" : "Session not found.\n";
	return "";
}

/* ---- show fd ---- */

static const char *family_of(const struct addr *a)
{
	return a->sa.sa_family == AF_INET ? "ipv4" : a->sa.sa_family == AF_INET6 ? "ipv6" : "unix";
}

static void add_listener(const struct admin_call *c, const struct frontend *fe, const struct endpoint *ep)
{
	const unsigned workers = c->ctx->engine->worker_count;
	const unsigned long long mask = workers < 64 ? (1ULL << workers) - 1 : ~0ULL;

	if (ep->fd < 0 || (c->question->fd >= 0 && c->question->fd != ep->fd))
		return;
	text_printf(c->out, "%7d : tmask=0x%llx l.st=%s fe=%s fam=%s", ep->fd, mask,
		    ep->stage == ENDPOINT_OPEN ? "RDY" : "LIM", fe->config->name, family_of(&ep->addr));
	if (addr_port(&ep->addr) != 0)
		text_printf(c->out, " lport=%u", addr_port(&ep->addr));
	text_add(c->out, "\n", 1);
}

void admin_ask_fd(const struct admin_call *c)
{
	unsigned fd;

	c->question->shown = SHOWN_FDS;
	if (c->arg_count > 0 && isdigit((unsigned char)c->args[0][0]))
		c->question->fd = admin_read_number(c->args[0], INT_MAX, &fd) ? (int)fd : INT_MAX;
	entries_foreach_frontend(&c->ctx->engine->entries, fe) {
		frontend_foreach_endpoint(fe, ep)
			add_listener(c, fe, ep);
	}
}
