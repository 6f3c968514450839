/* SPDX-License-Identifier: MIT
 *
 * options.c - everything that can be written in a configuration: the table, and lookups in it.
 *
 * Constant. Any thread.
 */
#include "weir/config/options.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/admin_levels.tbl.h"
#include "weir/config/suggest.h"

#define FRONT	(IN_FRONTEND | IN_LISTEN)
#define BACK	(IN_BACKEND | IN_LISTEN)
#define FRONT_D (FRONT | IN_DEFAULTS)
#define BACK_D	(BACK | IN_DEFAULTS)
#define BOTH_D	(FRONT | BACK | IN_DEFAULTS)

/* A year: longer than anybody waits, and far from overflow when added to a clock. */
#define MAX_NS (365 * 86400 * NS_PER_SEC)

#define FIELD(of, member)     offsetof(struct of, member), sizeof(((struct of *)NULL)->member)
#define FIELD_GLOBAL(member)  FIELD(config_global, member)
#define FIELD_PROXY(member)   FIELD(config_proxy, member)
#define FIELD_BIND(member)    FIELD(config_bind, member)
#define FIELD_SERVER(member)  FIELD(config_server, member)
#define FIELD_LOG(member)     FIELD(config_log, member)
#define FIELD_BALANCE(member) FIELD(config_balancing, member)
#define FIELD_CHECK(member)   FIELD(config_check, member)
#define FIELD_ROUTE(member)   FIELD(route, member)
#define FIELD_SNIFF(member)   FIELD(config_sniff, member)
#define FIELD_OBSERVE(member) FIELD(config_observing, member)
#define FIELD_SOURCE_RATE(member) FIELD(config_source_rate, member)
#define FIELD_STICKY(member)  FIELD(config_sticky, member)

#define MADE_GLOBAL(member)    FIELD_GLOBAL(member)
#define MADE_FRONT(member)     FIELD_PROXY(member)
#define MADE_BACK(member)      FIELD_PROXY(member)
#define MADE_TIMEOUT(member)   FIELD_PROXY(timeouts.member)
#define MADE_TCP(member)       FIELD_PROXY(tcp.member)
#define MADE_KEEPALIVE(member) FIELD(config_tcp, member)
#define MADE_CHECK(member)     FIELD_PROXY(check.member)
#define MADE_BIND(member)      FIELD_BIND(member)
#define MADE_SERVER(member)    FIELD_SERVER(member)

#define MADE_GLOBAL_CHOICE(member, ...) MADE_GLOBAL(member)
#define MADE_FRONT_CHOICE(member, ...)	MADE_FRONT(member)
#define MADE_BACK_CHOICE(member, ...)	MADE_BACK(member)
#define MADE_BIND_CHOICE(member, ...)	MADE_BIND(member)
#define MADE_TIMEOUT_CHOICE(member, ...) MADE_TIMEOUT(member)

#define NO_FIELD SIZE_MAX, 0

/* A shorter interval between health checks would be a noticeable load. */
#define CHECK_MIN_NS (10 * NS_PER_MS)

/* Choices whose words are rows of another table. Each word begins with a '|', which the first one does not
 * need. */
static const char log_level_words[] =
#define LOG_LEVEL(name, number, word) "|" word
#include "weir/base/log_levels.tbl.h"
#undef LOG_LEVEL
	;
static const char admin_level_words[] =
#define ADMIN_LEVEL(name, word, may) "|" word
#include "weir/config/admin_levels.tbl.h"
#undef ADMIN_LEVEL
	;
#define LOG_LEVEL_WORDS	  (log_level_words + 1)
#define ADMIN_LEVEL_WORDS (admin_level_words + 1)

const struct option options[] = {
#define OPTION(key, sections, effect, type, flags, words, field, def, min, max, help, example)               \
	{key, sections, effect, type, flags, words, field, def, min, max, help, example},
#define LATER(key, sections, flags, help, example)                                                           \
	{key, sections, 0, OPT_LATER, flags, "", NO_FIELD, NULL, 0, 0, help, example},
#include "weir/config/options.tbl.h"
#undef OPTION
#undef LATER
};

const size_t option_count = ARRAY_LEN(options);

static const struct section_name {
	unsigned section;
	const char *word;
} section_names[] = {
	{IN_GLOBAL, "global"}, {IN_STATS, "stats"},	  {IN_DEFAULTS, "defaults"},
	{IN_LISTEN, "listen"}, {IN_FRONTEND, "frontend"}, {IN_BACKEND, "backend"},
};

/* Lines whose words are options too. */
static const struct section_name line_names[] = {
	{IN_BIND, "a bind line"},
	{IN_SERVER, "a server line"},
	{IN_SET, "a servers line"},
	{IN_LOG, "a log line"},
	{IN_SYSLOG, "a log line to syslog"},
	{IN_ADMIN, "an admin-socket line"},
	{IN_STATS_BIND, "a bind line in [stats]"},
	{IN_KEEPALIVE, "a keepalive line"},
	{IN_BALANCE, "a balance line"},
	{IN_CHECK, "a check line"},
	{IN_ROUTE, "a use-backend line"},
	{IN_SNIFF, "a sniff line"},
	{IN_OBSERVE, "an observe line"},
	{IN_SOURCE_RATE, "a rate-limit-per-source line"},
	{IN_STICKY, "a sticky line"},
};

struct option_match option_find(unsigned sections, const char *key)
{
	struct option_match match = {NULL, "", 0};
	size_t longest = 0;

	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		size_t len;

		if ((o->sections & sections) == 0)
			continue;
		len = suggest_starts_with(key, o->key);
		if (len <= longest || (key[len] != '\0' && (o->flags & OPT_NAMED) == 0))
			continue;
		longest = len;
		match.option = o;
		match.name_offset = len + strspn(key + len, " \t");
		match.name = key + match.name_offset;
	}
	return match;
}

const struct option *option_find_start(unsigned sections, const char *line, size_t *len)
{
	const struct option *best = NULL;

	*len = 0;
	for (size_t i = 0; i < option_count; i++) {
		size_t n = suggest_starts_with(line, options[i].key);

		if ((options[i].sections & sections) != 0 && n > *len) {
			*len = n;
			best = &options[i];
		}
	}
	return best;
}

const struct option *option_suggest(unsigned sections, const char *key)
{
	struct suggest s;

	/* Suggest options of later versions only if nothing else is close. */
	for (int later = 0; later < 2; later++) {
		suggest_init(&s, key);
		for (size_t i = 0; i < option_count; i++) {
			if ((options[i].sections & sections) != 0 && (options[i].type == OPT_LATER) == later)
				suggest_offer(&s, options[i].key, &options[i]);
		}
		if (s.thing != NULL)
			break;
	}
	return s.thing;
}

const char *option_version_note(const struct option *o)
{
	return o->type == OPT_LATER ? " (not in this version)" : "";
}

const char *option_list_of(unsigned sections, const char *word, char *buf)
{
	const size_t len = strlen(word);
	const char *previous = "";
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		char text[64];
		int n;

		if ((o->sections & sections) == 0 || o->type == OPT_LATER || strcmp(o->key, previous) == 0 ||
		    strncmp(o->key, word, len) != 0 || o->key[len] != '-')
			continue;
		n = snprintf(text, sizeof(text), "%s'%s'", used > 0 ? ", " : "", o->key);
		check(n > 0);
		if (used + (size_t)n >= OPTION_LIST_MAX)
			break;
		memcpy(buf + used, text, (size_t)n + 1);
		used += (size_t)n;
		previous = o->key;
	}
	return buf;
}

const char *section_word(unsigned section)
{
	for (size_t i = 0; i < ARRAY_LEN(section_names); i++) {
		if (section_names[i].section == section)
			return section_names[i].word;
	}
	return NULL;
}

unsigned section_kind(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(section_names); i++) {
		if (strlen(section_names[i].word) == len && memcmp(section_names[i].word, word, len) == 0)
			return section_names[i].section;
	}
	return 0;
}

/* Adds one word to the list in `buf`; returns the list's length. */
static size_t add_place(char *buf, size_t used, const char *between, const char *text)
{
	int n = snprintf(buf + used, OPTION_PLACES_MAX - used, "%s%s", used > 0 ? between : "", text);

	check(n > 0);
	check((size_t)n < OPTION_PLACES_MAX - used);
	return used + (size_t)n;
}

const char *option_places(unsigned sections, char *buf)
{
	char text[32];
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(section_names); i++) {
		if ((sections & section_names[i].section) == 0)
			continue;
		(void)snprintf(text, sizeof(text), "[%s]", section_names[i].word); /* fits: our own words */
		used = add_place(buf, used, " or ", text);
	}
	for (size_t i = 0; i < ARRAY_LEN(line_names); i++) {
		if ((sections & line_names[i].section) != 0)
			used = add_place(buf, used, " or ", line_names[i].word);
	}
	return buf;
}

const char *option_choices(const struct option *o, bool later, char *buf)
{
	const char *item = o->words;
	char text[32];
	size_t used = 0;

	buf[0] = '\0';
	while (*item != '\0') {
		bool is_later = *item == '!';
		size_t len = strcspn(item + is_later, "|");

		check(len < sizeof(text));
		memcpy(text, item + is_later, len);
		text[len] = '\0';
		if (is_later == later)
			used = add_place(buf, used, ", ", text);
		item += (is_later ? 1 : 0) + len;
		item += *item == '|' ? 1 : 0;
	}
	return buf;
}

const char *option_choice_word(unsigned sections, const char *key, unsigned index, char *buf)
{
	const struct option *o = option_find(sections, key).option;
	const char *item;
	size_t len;

	check(o != NULL);
	for (item = o->words; index > 0; index--) {
		item = strchr(item, '|');
		check(item != NULL);
		item++;
	}
	item += *item == '!' ? 1 : 0;
	len = strcspn(item, "|");
	check(len < OPTION_WORD_MAX);
	memcpy(buf, item, len);
	buf[len] = '\0';
	return buf;
}
