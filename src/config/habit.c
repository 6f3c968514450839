/* SPDX-License-Identifier: MIT
 *
 * habit.c - what HAProxy and nginx users write by habit, put into our words.
 *
 * Main thread. Floor 2.
 */
#include "sluice/config/habit.h"

#include <stdlib.h>
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/config/suggest.h"
#include "sluice/io/netset.h"

/* Is `word` among the words of `o` that this version does not have? */
static bool is_later_choice(const struct option *o, const char *word, size_t len)
{
	char later[OPTION_PLACES_MAX];
	const char *item = later;

	if (o->type != OPT_CHOICE && o->type != OPT_BALANCE)
		return false;
	option_choices(o, true, later);
	while (*item != '\0') {
		size_t item_len = strcspn(item, ",");

		if (item_len == len && memcmp(item, word, len) == 0)
			return true;
		item += item_len + strspn(item + item_len, ", ");
	}
	return false;
}

/* Does the first thing that a hint quotes, 'key' or 'key = value', exist only in a later version? */
static bool quotes_later(const char *hint)
{
	const char *key = strchr(hint, '\'');
	size_t key_len, value;
	bool later = false;

	if (key == NULL)
		return false;
	key++;
	key_len = strcspn(key, " ='");
	value = key_len + strspn(key + key_len, " =");
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if (strlen(o->key) != key_len || memcmp(o->key, key, key_len) != 0)
			continue;
		if (o->type != OPT_LATER && !is_later_choice(o, key + value, strcspn(key + value, " '")))
			return false;
		later = true;
	}
	return later;
}

static const char *with_version(struct arena *a, const char *hint)
{
	if (hint == NULL || !quotes_later(hint))
		return hint;
	return arena_printf(a, "%s; not in this version", hint);
}

/* The "..." of a hint stands for the word that follows in `line`. What touches it, a ':' before or a
 * unit behind, is there for a bare number only: "listen 80", "clitimeout 5000". */
static const char *with_argument(struct arena *a, const char *hint, const char *argument)
{
	const char *mark = hint != NULL ? strstr(hint, "...") : NULL;
	size_t len = strcspn(argument, " \t;"), before, after;
	bool bare = len > 0 && strspn(argument, "0123456789") == len;

	if (mark == NULL)
		return hint;
	before = (size_t)(mark - hint);
	if (before > 0 && mark[-1] == ':' && !bare)
		before--;
	after = 3 + (bare ? 0 : strcspn(mark + 3, "'"));
	return arena_printf(a, "%.*s%.*s%s", (int)before, hint, len > 0 ? (int)len : 3,
			    len > 0 ? argument : "...", mark + after);
}

/* The NETWORK of a hint stands for what `line` has behind "src": "{ src 10.0.0.0/8 }". */
static const char *with_network(struct arena *a, const char *hint, const char *line)
{
	const char *mark = hint != NULL ? strstr(hint, "NETWORK") : NULL;
	const char *src = strstr(line, " src ");
	struct net_prefix prefix;
	const char *text, *why;

	if (mark == NULL || src == NULL)
		return hint;
	src += strlen(" src ") + strspn(src + strlen(" src "), " \t");
	text = arena_strndup(a, src, strcspn(src, " \t}"));
	if (net_prefix_parse(text, &prefix, &why) != 0)
		return hint;
	return arena_printf(a, "%.*s%s%s", (int)(mark - hint), hint, text, mark + strlen("NETWORK"));
}

/* nginx's "listen 443 proxy_protocol": a word of the line that is a word of ours. */
static const char *with_proxy_protocol(struct arena *a, const char *hint, const char *line)
{
	static const char bind[] = "write 'bind = ";
	size_t quote;

	if (hint == NULL || strncmp(hint, bind, strlen(bind)) != 0 || strstr(line, " proxy_protocol") == NULL)
		return hint;
	quote = strlen(bind) + strcspn(hint + strlen(bind), "'");
	return arena_printf(a, "%.*s accept-proxy%s", (int)quote, hint, hint + quote);
}

const char *habit_translate(struct arena *a, const char *line, size_t *len)
{
	const char *hint = with_network(a, suggest_foreign(FOREIGN_LINE, line, len), line);
	const char *argument = line + *len;

	hint = with_argument(a, hint, argument + strspn(argument, " \t"));
	return with_version(a, with_proxy_protocol(a, hint, line));
}

const char *habit_translate_word(struct arena *a, const char *word)
{
	size_t len;

	return with_version(a, suggest_foreign(FOREIGN_IN_LINE, word, &len));
}

/* The section that the words of a line of `o` are options of; 0 = they are none. */
static unsigned words_section(const struct option *o)
{
	switch (o->type) {
	case OPT_BIND:
		return IN_BIND;
	case OPT_SERVER:
		return IN_SERVER;
	case OPT_LOG:
		return IN_LOG;
	case OPT_ADMIN:
		return IN_ADMIN;
	case OPT_KEEPALIVE:
		return IN_KEEPALIVE;
	case OPT_BALANCE:
		return IN_BALANCE;
	default:
		return 0;
	}
}

/* Has the option a value? What is not built yet shows it in its example. */
static bool takes_value(struct arena *a, const struct option *o)
{
	if (o->type == OPT_LATER)
		return strstr(o->example, arena_printf(a, "%s=", o->key)) != NULL;
	return o->type != OPT_FLAG && (o->flags & OPT_BARE) == 0;
}

static bool is_duration(enum option_type type)
{
	return type == OPT_DURATION || type == OPT_MILLIS || type == OPT_SECONDS || type == OPT_IDLE ||
	       type == OPT_KEEPALIVE;
}

/* A word of a server line as HAProxy or nginx has it, in ours; the columns stay those of the source. */
static struct word synonym(struct arena *a, const struct option *o, const struct word *w)
{
	static const struct {
		const char *theirs, *ours;
	} rows[] = {
		{"send-proxy-v2", "send-proxy=v2"}, {"no-check", "check=off"},	 {"down", "disabled"},
		{"max_conns=", "maxconn="},	    {"slow_start=", "slowstart="}, {"port", "check-port"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows) && o->type == OPT_SERVER; i++) {
		size_t len = strlen(rows[i].theirs);
		bool whole = rows[i].theirs[len - 1] != '=';
		struct word ours = {.at = w->at};
		unsigned *cols;

		if (strncmp(w->text, rows[i].theirs, len) != 0 || (whole && w->text[len] != '\0'))
			continue;
		ours.text = arena_printf(a, "%s%s", rows[i].ours, w->text + len);
		ours.len = strlen(ours.text);
		cols = arena_alloc(a, (ours.len + 1) * sizeof(*cols));
		for (size_t k = 0; k <= ours.len; k++)
			cols[k] = w->at.col;
		ours.cols = cols;
		return ours;
	}
	return *w;
}

void habit_join_words(struct diag *d, const struct option *o, struct words *words)
{
	struct arena *a = d->arena;
	unsigned section = words_section(o);
	size_t kept = 1;

	if (words->count == 0)
		return;
	if (is_duration(o->type) && strspn(words->list[0].text, "0123456789") == words->list[0].len &&
	    strcmp(words->list[0].text, "0") != 0)
		words->list[0] = word_joined(a, &words->list[0], "ms", NULL);
	for (size_t i = 1; i < words->count; i++) {
		struct word w = synonym(a, o, &words->list[i]);
		const struct option *word = option_find(section, w.text).option;
		const struct word *next = i + 1 < words->count ? &words->list[i + 1] : NULL;

		if (word != NULL && takes_value(a, word) && next != NULL && strchr(next->text, '=') == NULL &&
		    option_find(section, next->text).option == NULL) {
			w = word_joined(a, &w, "=", next);
			i++;
		}
		words->list[kept++] = w;
	}
	words->count = kept;
}

const char *habit_line(struct arena *a, const struct option *o, const char *name, const struct words *words)
{
	char *line = arena_printf(a, "%s%s%s =", o->key, name[0] != '\0' ? " " : "", name);
	unsigned section = words_section(o);

	for (size_t i = 0; i < words->count; i++) {
		const char *word = arena_strndup(a, words->list[i].text, strcspn(words->list[i].text, "="));
		const char *text = words->list[i].text;
		const char *quote = text[strcspn(text, " \t#;\"'")] == '\0' ? ""
				    : strchr(text, '\'') == NULL	    ? "'"
									    : "\"";

		/* What no row knows is reported where it stands. */
		if (i > 0 && section != 0 && option_find(section, word).option == NULL)
			continue;
		/* HAProxy's `log 127.0.0.1 local0`: its port is the one of syslog. */
		if (i == 0 && o->type == OPT_LOG && strspn(text, "0123456789") > 0)
			text = arena_printf(a, "syslog:%s%s", text, strchr(text, ':') == NULL ? ":514" : "");
		line = arena_printf(a, "%s %s%s%s", line, quote, text, quote);
	}
	return line;
}
