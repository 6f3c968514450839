/* SPDX-License-Identifier: MIT
 *
 * server_word.c - the words of HAProxy's `add server`, each translated into one of a server line of ours.
 *
 * Owns their grammar, not their values: those are judged with the line. Where HAProxy refuses a word, its
 * text is used, with the second full stop that it has. Control thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/haproxy_time.h"
#include "weir/config/suggest.h"
#include "weir/config/values.h"
#include "server_word.h"

struct word_row {
	const char *word;
	/* Takes the word at `r->at` and what belongs to it: how many words, or -EINVAL after a refusal. */
	int (*take)(struct word_reader *r, const struct word_row *row);
	const char *ours;
};

static struct arena *word_arena(struct word_reader *r)
{
	return &r->result->memory;
}

/* ---- refusals ---- */

int word_refuse(struct word_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->result->haproxy = arena_vprintf(word_arena(r), fmt, ap);
	va_end(ap);
	r->result->ours = r->result->haproxy;
	return -EINVAL;
}

void word_advise(struct word_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->result->ours = arena_vprintf(word_arena(r), fmt, ap);
	va_end(ap);
}

/* The word behind the one being taken. */
static const char *value_of(const struct word_reader *r)
{
	return r->at + 1 < r->count ? r->in[r->at + 1] : "";
}

static int refuse_added(struct word_reader *r, const struct word_row *row)
{
	(void)word_refuse(r, "'%s' option is not accepted for dynamic server", row->word);
	word_advise(r, "'%s' is not accepted for a server that is added at run time; leave it out",
		    row->word);
	return -EINVAL;
}

static int refuse_here(struct word_reader *r, const struct word_row *row)
{
	(void)word_refuse(r, "'%s' option is not implemented in this version (check build options)",
			  row->word);
	word_advise(r, "weir has no '%s'; leave it out", row->word);
	return -EINVAL;
}

/* It is for the checks of all servers of a section. */
static int refuse_tls(struct word_reader *r, const struct word_row *row)
{
	(void)refuse_here(r, row);
	word_advise(r, "weir has no '%s' for one server; the section has 'check = https' and 'check = tls'",
		    row->word);
	return -EINVAL;
}

static int refuse_usesrc(struct word_reader *r, const struct word_row *row)
{
	(void)row;
	return word_refuse(r, "'usesrc' only allowed after a 'source' statement..");
}

/* ---- words of our line ---- */

static struct word make_word(struct word_reader *r, const char *text)
{
	const size_t len = strlen(text);
	unsigned *cols = arena_alloc(word_arena(r), (len + 1) * sizeof(*cols));
	struct word w = {.text = text, .len = len, .cols = cols};
	struct source *source;

	for (size_t i = 0; i <= len; i++)
		cols[i] = (unsigned)i + 1;
	source = source_new(word_arena(r), "add server");
	source_add_line(word_arena(r), source, text, len);
	w.at = (struct at){source, 1, 1, len > 0 ? (unsigned)len : 1};
	return w;
}

void word_push(struct word_reader *r, const char *text)
{
	r->out.list = arena_grow(word_arena(r), r->out.list, r->out.count, sizeof(*r->out.list));
	r->out.list[r->out.count++] = make_word(r, text);
}

/* The last word counts, as in HAProxy. */
static void drop(struct word_reader *r, const char *key)
{
	const size_t len = strcspn(key, "=");

	for (size_t i = 1; i < r->out.count; i++) {
		const char *text = r->out.list[i].text;

		if (strncmp(text, key, len) != 0 || (text[len] != '=' && text[len] != '\0'))
			continue;
		r->out.count--;
		memmove(&r->out.list[i], &r->out.list[i + 1], (r->out.count - i) * sizeof(*r->out.list));
		i--;
	}
}

static void put(struct word_reader *r, const char *key, const char *value)
{
	drop(r, key);
	word_push(r, arena_printf(word_arena(r), "%s=%s", key, value));
}

/* ---- the kinds of words ---- */

static int take_flag(struct word_reader *r, const struct word_row *row)
{
	drop(r, row->ours);
	word_push(r, row->ours);
	return 1;
}

static int take_away(struct word_reader *r, const struct word_row *row)
{
	if (row->ours != NULL)
		drop(r, row->ours);
	return 1;
}

static int take_text(struct word_reader *r, const struct word_row *row)
{
	put(r, row->ours, value_of(r));
	return 2;
}

/* HAProxy takes 0 for what is not a number: refused here. */
static int take_number(struct word_reader *r, const struct word_row *row)
{
	const char *value = value_of(r);

	if (value[0] == '\0' && strcmp(row->word, "port") == 0)
		return word_refuse(r, "'port' expects a port number as argument..");
	if (strcmp(row->word, "port") == 0 && strcmp(value, "0") == 0)
		drop(r, row->ours); /* that of the server */
	else
		put(r, row->ours, value);
	return 2;
}

static int take_count(struct word_reader *r, const struct word_row *row)
{
	if (value_of(r)[0] == '\0')
		return word_refuse(r, "'%s' expects an integer argument..", row->word);
	if (strtol(value_of(r), NULL, 10) <= 0)
		return word_refuse(r, "'%s' has to be > 0..", row->word);
	return take_number(r, row);
}

static int take_weight(struct word_reader *r, const struct word_row *row)
{
	char *end;
	const long weight = strtol(value_of(r), &end, 10);

	if (weight < 0 || weight > 256)
		return word_refuse(r, "weight of server %s is not within 0 and 256 (%ld)..", r->name, weight);
	return take_number(r, row);
}

/* Refuses what is not a time, in HAProxy's words; `what` is how it names the word itself. */
static int read_time(struct word_reader *r, const struct word_row *row, const char *kind, const char *what,
		     int64_t *ms)
{
	const char *value = value_of(r), *stray = NULL;

	switch (haproxy_time(value, ms, &stray)) {
	case HAPROXY_TIME_FINE:
		return 0;
	case HAPROXY_TIME_OVER:
		return word_refuse(r, "%soverflow in argument <%s> to <%s> of server %s, maximum value is "
				   "2147483647 ms (~24.8 days)..", kind, value, row->word, r->name);
	case HAPROXY_TIME_BAD:
		break;
	}
	return word_refuse(r, "unexpected character '%c' in '%s' argument of server %s..", *stray, what,
			   r->name);
}

static void put_time(struct word_reader *r, const char *key, int64_t ms)
{
	char buf[VALUE_TEXT_MAX];

	put(r, key, value_format_duration(ms * NS_PER_MS, buf));
}

static int take_time(struct word_reader *r, const struct word_row *row)
{
	int64_t ms = 0;

	if (value_of(r)[0] == '\0')
		return word_refuse(r, "'%s' expects a delay as argument..", row->word);
	/* HAProxy names another word in each of these. */
	if (read_time(r, row, "timer ", "agent-inter", &ms) != 0)
		return -EINVAL;
	if (ms == 0)
		return word_refuse(r, "invalid value 0 for argument '%s' of server %s..", row->word, r->name);
	put_time(r, row->ours, ms);
	return 2;
}

static int take_slowstart(struct word_reader *r, const struct word_row *row)
{
	int64_t ms = 0;

	if (read_time(r, row, "", "slowstart", &ms) != 0)
		return -EINVAL;
	put_time(r, row->ours, ms);
	return 2;
}

/* ---- words with a meaning of their own ---- */

static int take_disabled(struct word_reader *r, const struct word_row *row)
{
	(void)row;
	r->result->enabled = false;
	return 1;
}

static int take_enabled(struct word_reader *r, const struct word_row *row)
{
	(void)row;
	r->result->enabled = true;
	return 1;
}

/* An IP address; the port that HAProxy allows behind it means nothing to it, either. */
static int take_addr(struct word_reader *r, const struct word_row *row)
{
	const char *value = value_of(r);
	struct addr *a = &r->result->check_addr;

	if (value[0] == '\0')
		return word_refuse(r, "'%s' expects <ipv4|ipv6> as argument..", row->word);
	*a = (struct addr){0};
	if (inet_pton(AF_INET, value, &a->in.sin_addr) == 1) {
		a->in.sin_family = AF_INET;
		a->len = sizeof(a->in);
	} else if (inet_pton(AF_INET6, value, &a->in6.sin6_addr) == 1) {
		a->in6.sin6_family = AF_INET6;
		a->len = sizeof(a->in6);
	} else {
		(void)word_refuse(r, "'%s' : invalid address: '%s' in '%s'", row->word, value, value);
		word_advise(r, "'addr %s' is not an IP address; for a port write 'port N'", value);
		return -EINVAL;
	}
	return 2;
}

/* "source ADDR [usesrc client]"; ours takes "client" in place of an address. */
static int take_source(struct word_reader *r, const struct word_row *row)
{
	const char *value = value_of(r);
	const bool any = strcmp(value, "0.0.0.0") == 0 || strcmp(value, "*") == 0;
	const size_t next = r->at + 2;
	const char *more = next < r->count ? r->in[next] : "";

	if (value[0] == '\0')
		return word_refuse(r, "'source' expects <addr>[:<port>[-<port>]], and optionally 'usesrc' "
				      "<addr>, and 'interface' <name> as argument..");
	if (strcmp(more, "interface") == 0)
		return word_refuse(r, "'interface' option is not implemented in this version (check build "
				      "options)");
	if (strcmp(more, "usesrc") != 0) {
		if (any)
			drop(r, row->ours); /* whatever the kernel chooses */
		else
			put(r, row->ours, value);
		return 2;
	}
	more = next + 1 < r->count ? r->in[next + 1] : "";
	if (!any || (strcmp(more, "clientip") != 0 && strcmp(more, "client") != 0)) {
		(void)word_refuse(r,
				  "'usesrc' option is not implemented in this version (check build options)");
		word_advise(r, "write 'source 0.0.0.0 usesrc clientip' for the client's address");
		return -EINVAL;
	}
	put(r, row->ours, "client");
	return 4;
}

/* Set for the whole section: taken where the section says the same. */
static int take_marked_down(struct word_reader *r, const struct word_row *row)
{
	if (strcmp(value_of(r), "shutdown-sessions") != 0)
		return word_refuse(r, "'%s' expects 'shutdown-sessions' but got '%s'.", row->word,
				   value_of(r));
	if (r->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		return 2;
	(void)refuse_here(r, row);
	word_advise(r,
		    "backend '%s' has no 'on-marked-down = close-sessions', which holds for all of its "
		    "servers",
		    r->backend->name);
	return -EINVAL;
}

static int take_observe(struct word_reader *r, const struct word_row *row)
{
	const char *value = value_of(r);

	if (strcmp(value, "none") == 0)
		return 2;
	if (strcmp(value, "layer4") == 0 && r->backend->observe.what == CONFIG_OBSERVE_CONNECT)
		return 2;
	(void)refuse_here(r, row);
	word_advise(r, "backend '%s' has no 'observe = connect', which holds for all of its servers",
	       r->backend->name);
	return -EINVAL;
}

/* ---- all words ---- */

static const struct word_row rows[] = {
#define WORD(word, take, ours) {word, take, ours},
#include "haproxy_server.tbl.h"
#undef WORD
};

static const struct word_row *find_row(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].word, word) == 0)
			return &rows[i];
	return NULL;
}

static int refuse_unknown(struct word_reader *r)
{
	const char *word = r->in[r->at];
	struct suggest near;

	suggest_init(&near, word);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		suggest_offer(&near, rows[i].word, NULL);
	if (near.best != NULL)
		return word_refuse(r, "unknown keyword '%s'; did you mean '%s' maybe ?", word, near.best);
	return word_refuse(r, "unknown keyword '%s'.", word);
}

int word_take_all(struct word_reader *r)
{
	while (r->at < r->count) {
		const struct word_row *row = find_row(r->in[r->at]);
		int used = 1;

		if (row != NULL)
			used = row->take(r, row);
		else if (r->ours && strchr(r->in[r->at], '=') != NULL)
			word_push(r, arena_printf(word_arena(r), "%s", r->in[r->at]));
		else
			used = refuse_unknown(r);
		if (used < 0)
			return used;
		r->at += (size_t)used;
	}
	return 0;
}
