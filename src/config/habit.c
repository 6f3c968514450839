/* SPDX-License-Identifier: MIT
 *
 * habit.c - rewrites in our syntax the lines that HAProxy and nginx users write by habit.
 *
 * A suggestion contains no word that would be refused: such a word is left out, and reported at its place.
 * Main thread.
 */
#include "weir/config/habit.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/suggest.h"

static bool is_check_with_options(const char *kind)
{
	static const char *const kinds[] = {"tcp", "redis", "pgsql", "mysql", "ldap"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

/* The section to which the words of a line of `o` belong as options; 0 = they are not options. The words of
 * an HTTP check, or of one that sends or expects text, are kept as they are. */
static unsigned words_section(const struct option *o, const struct words *words)
{
	switch (o->type) {
	case OPT_BIND:
		return IN_BIND;
	case OPT_SERVER:
	case OPT_SERVER_WORDS:
		return IN_SERVER;
	case OPT_SERVERS:
		return IN_SERVER | IN_SET;
	case OPT_LOG:
		return IN_LOG;
	case OPT_ADMIN:
		return IN_ADMIN;
	case OPT_STATS:
		return IN_STATS_BIND;
	case OPT_KEEPALIVE:
	case OPT_KEEPALIVES:
		return IN_KEEPALIVE;
	case OPT_BALANCE:
		return IN_BALANCE;
	case OPT_SNIFF:
		return IN_SNIFF;
	case OPT_OBSERVE:
		return IN_OBSERVE;
	case OPT_SOURCE_RATE:
		return IN_SOURCE_RATE;
	case OPT_STICKY:
		return IN_STICKY;
	case OPT_CHECK:
		return is_check_with_options(words->list[0].text) ? IN_CHECK : 0;
	default:
		return 0;
	}
}

/* Does the option take a value? The example shows that for options not implemented yet. */
static bool takes_value(struct arena *a, const struct option *o)
{
	if (o->type == OPT_LATER)
		return strstr(o->example, arena_printf(a, "%s=", o->key)) != NULL;
	return o->type != OPT_FLAG && (o->flags & OPT_BARE) == 0;
}

/* The unit of a bare number in HAProxy: milliseconds, or seconds for keepalive. NULL: it needs none. */
static const char *unit_of(enum option_type type)
{
	switch (type) {
	case OPT_DURATION:
	case OPT_MILLIS:
	case OPT_IDLE:
		return "ms";
	case OPT_KEEPALIVE:
	case OPT_KEEPALIVES:
	case OPT_SECONDS:
		return "s";
	default:
		return NULL;
	}
}

/* The word with the unit of its option added, if the value after `from` is a bare number. */
static struct word with_unit(struct arena *a, const struct option *o, const struct word *w, size_t from)
{
	const char *value = w->text + from;
	const char *unit = unit_of(o->type);

	if (unit == NULL || *value == '\0' || value[strspn(value, "0123456789")] != '\0' ||
	    strcmp(value, "0") == 0)
		return *w;
	return word_joined(a, w, unit, NULL);
}

/* A word of ours that replaces the one at `at`, and keeps its place in the source. */
static struct word word_made(struct arena *a, struct at at, const char *text)
{
	struct word w = {.text = text, .len = strlen(text), .at = at};
	unsigned *cols = arena_alloc(a, (w.len + 1) * sizeof(*cols));

	for (size_t i = 0; i <= w.len; i++)
		cols[i] = at.col;
	w.cols = cols;
	return w;
}

static bool is_server_line(const struct option *o)
{
	return o->type == OPT_SERVER || o->type == OPT_SERVERS || o->type == OPT_SERVER_WORDS;
}

/* Where the words of a line begin that are options: behind an address, or a value. */
static size_t first_option(const struct option *o)
{
	return o->type == OPT_SERVER_WORDS ? 0 : 1;
}

/* Translates a word of a server line of HAProxy or nginx; columns remain those of the source. */
static struct word synonym(struct arena *a, const struct option *o, const struct word *w)
{
	static const struct {
		const char *theirs, *ours, *unit; /* of a bare number */
	} rows[] = {
	    {"send-proxy-v2", "send-proxy=v2", ""},
	    {"no-check", "check=off", ""},
	    {"down", "disabled", ""},
	    {"max_conns=", "maxconn=", ""},
	    {"slow_start=", "slowstart=", "s"},
	    {"port", "check-port", ""},
	    {"inter", "check-interval", ""},
	    {"fastinter", "check-fast", ""},
	    {"downinter", "check-down", ""},
	    {"rise", "check-rise", ""},
	    {"fall", "check-fall", ""},
	    {"addr", "check-addr", ""},
	    {"no-backup", "backup=off", ""},
	    {"no-disabled", "disabled=off", ""},
	    {"enabled", "disabled=off", ""},
	    {"no-send-proxy", "send-proxy=off", ""},
	    {"no-send-proxy-v2", "send-proxy=off", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows) && is_server_line(o); i++) {
		size_t len = strlen(rows[i].theirs);
		bool whole = rows[i].theirs[len - 1] != '=';
		const char *value = w->text + len;
		bool bare;

		if (strncmp(w->text, rows[i].theirs, len) != 0 || (whole && *value != '\0'))
			continue;
		bare = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
		return word_made(a, w->at,
				 arena_printf(a, "%s%s%s", rows[i].ours, value, bare ? rows[i].unit : ""));
	}
	return *w;
}

/* Are the four words from `n` on HAProxy's "source 0.0.0.0 usesrc clientip"? */
static bool is_source_client(const struct option *o, const struct words *words, size_t n)
{
	const struct word *w = &words->list[n];

	return is_server_line(o) && n + 3 < words->count && strcmp(w[0].text, "source") == 0 &&
	       strcmp(w[2].text, "usesrc") == 0 &&
	       (strcmp(w[3].text, "client") == 0 || strcmp(w[3].text, "clientip") == 0);
}

/* "check inter 5s": a `check` line that begins with words that are keys of ours. */
static bool is_check_of_words(const struct option *o, const struct words *words)
{
	size_t len;

	return o->type == OPT_CHECK && suggest_foreign(FOREIGN_IN_LINE, words->list[0].text, &len) != NULL;
}

static void insert_tcp(struct arena *a, struct words *words)
{
	struct word *list = arena_alloc(a, (words->count + 1) * sizeof(*list));

	list[0] = word_made(a, words->list[0].at, "tcp");
	memcpy(list + 1, words->list, words->count * sizeof(*list));
	words->list = list;
	words->count++;
}

/* Word `*n` of a line, joined with the next one if that is its value. */
static struct word take_word(struct arena *a, const struct option *o, const struct words *words, size_t *n)
{
	struct word w = synonym(a, o, &words->list[*n]);
	unsigned section = words_section(o, words);
	const struct option *word =
	    option_find(section, arena_strndup(a, w.text, strcspn(w.text, "="))).option;
	const struct word *next = *n + 1 < words->count ? &words->list[*n + 1] : NULL;

	if (is_source_client(o, words, *n)) {
		*n += 3;
		return word_made(a, w.at, "source=client");
	}
	if (word == NULL)
		return w;
	if (strchr(w.text, '=') == NULL && takes_value(a, word) && next != NULL &&
	    strchr(next->text, '=') == NULL && option_find(section, next->text).option == NULL) {
		w = word_joined(a, &w, "=", next);
		++*n;
	}
	return strchr(w.text, '=') != NULL ? with_unit(a, word, &w, strcspn(w.text, "=") + 1) : w;
}

/* "persist rdp-cookie", also with "(msts)". */
static bool is_rdp_cookie(const struct option *o, const char *text)
{
	return strcmp(o->key, "persist") == 0 && strncmp(text, "rdp-cookie", strlen("rdp-cookie")) == 0;
}

void habit_join_words(struct diag *d, const struct option *o, struct words *words)
{
	struct arena *a = d->arena;
	size_t kept = first_option(o);

	if (words->count == 0)
		return;
	if (is_check_of_words(o, words))
		insert_tcp(a, words);
	words->list[0] = with_unit(a, o, &words->list[0], 0);
	if (is_rdp_cookie(o, words->list[0].text))
		words->list[0] = word_made(a, words->list[0].at, "rdp");
	for (size_t i = kept; i < words->count; i++) {
		struct word w = take_word(a, o, words, &i);

		words->list[kept++] = w;
	}
	words->count = kept;
}

const char *habit_own_word(struct arena *a, const struct option *o, const struct words *words, size_t n)
{
	const struct word *theirs = &words->list[n];
	struct word ours = synonym(a, o, theirs);
	const struct option *word;

	if (strcmp(ours.text, theirs->text) == 0)
		return NULL;
	ours = take_word(a, o, words, &n);
	word = option_find(words_section(o, words), ours.text).option;
	return arena_printf(a, "write '%s%s'", ours.text, word != NULL && takes_value(a, word) ? "=..." : "");
}

/* "proxy-v2-options=crc32c,ssl" reduced to what we support; NULL if that is nothing. */
static const char *known_tlvs(struct arena *a, const char *text)
{
	static const char *const known[] = {"crc32c", "unique-id", "pass"};
	size_t key_len = strcspn(text, "=");
	const char *sum = NULL;

	for (const char *part = text + key_len; *part != '\0'; part += strcspn(part, ",")) {
		size_t len = strcspn(++part, ",");

		for (size_t i = 0; i < ARRAY_LEN(known); i++) {
			if (strlen(known[i]) != len || memcmp(known[i], part, len) != 0)
				continue;
			sum = sum == NULL ? arena_printf(a, "%.*s=%s", (int)key_len, text, known[i])
					  : arena_printf(a, "%s,%s", sum, known[i]);
		}
	}
	return sum;
}

/* Algorithms that only HAProxy has; they are reported when the value is read. */
static const char *known_balance(const char *text)
{
	static const char *const by_content[] = {"hash", "sticky", "uri", "url_param", "hdr", "rdp-cookie"};
	size_t len = strcspn(text, "(");

	if (strcmp(text, "static-rr") == 0)
		return "roundrobin";
	for (size_t i = 0; i < ARRAY_LEN(by_content); i++) {
		if (strlen(by_content[i]) == len && memcmp(by_content[i], text, len) == 0)
			return "source";
	}
	return text;
}

/* The word as suggested, NULL to leave it out: a word that no row has is reported at its place. */
static const char *suggested(struct arena *a, const struct option *o, unsigned section, const char *text,
			     bool first)
{
	const struct option *word;

	/* HAProxy's `log 127.0.0.1 local0`: its port is syslog's. */
	if (first && o->type == OPT_LOG && strspn(text, "0123456789") > 0)
		return arena_printf(a, "syslog:%s%s", text, strchr(text, ':') == NULL ? ":514" : "");
	if (first && o->type == OPT_BALANCE)
		return known_balance(text);
	if (first || section == 0)
		return text;
	word = option_find(section, arena_strndup(a, text, strcspn(text, "="))).option;
	if (word == NULL)
		return NULL;
	return word->type == OPT_PROXY_TLVS ? known_tlvs(a, text) : text;
}

const char *habit_line(struct arena *a, const struct option *o, const char *name, const struct words *words)
{
	char *line = arena_printf(a, "%s%s%s =", o->key, name[0] != '\0' ? " " : "", name);
	unsigned section = words_section(o, words);

	for (size_t i = 0; i < words->count; i++) {
		const char *text = suggested(a, o, section, words->list[i].text, i < first_option(o));
		const char *quote;

		if (text == NULL)
			continue;
		quote = text[strcspn(text, " \t#;\"'")] == '\0' ? ""
			: strchr(text, '\'') == NULL		? "'"
								: "\"";
		line = arena_printf(a, "%s %s%s%s", line, quote, text, quote);
	}
	return line;
}
