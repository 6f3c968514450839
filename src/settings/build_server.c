/* SPDX-License-Identifier: MIT
 *
 * build_server.c - servers, with the words that they inherit from server-defaults.
 *
 * Words are merged before they are interpreted, so a line means what it would mean with all of them written
 * on it. Messages about an inherited word are about the line that has it, and come once. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/reader.h"
#include "build.h"

/* The option of a word; NULL = none. */
static const struct option *option_of(struct arena *a, const struct word *w)
{
	return option_find(IN_SERVER, arena_strndup(a, w->text, strcspn(w->text, "="))).option;
}

static void add_word(struct arena *a, struct words *words, const struct word *w)
{
	words->list = arena_grow(a, words->list, words->count, sizeof(*words->list));
	words->list[words->count++] = *w;
}

/* The first word of `o` from `from` on; NULL = none. */
static struct word *find_word(struct arena *a, const struct words *words, size_t from, const struct option *o)
{
	for (size_t i = from; i < words->count; i++)
		if (option_of(a, &words->list[i]) == o)
			return &words->list[i];
	return NULL;
}

/* ---- lines of server-defaults ---- */

/* Would this word alone be right? What is wrong with it has been reported. */
static bool is_right(const struct setting *s, struct word *w)
{
	struct diag quiet = {.arena = s->diag->arena, .environment = s->diag->environment};
	struct config_server nowhere = {0};
	struct setting one = {&quiet, s->option, {w, 1}, &nowhere};

	return setting_parse_words(&one, 0, IN_SERVER) == 0;
}

int build_read_server_words(const struct setting *s, struct words *defaults)
{
	struct arena *a = s->diag->arena;
	struct config_server nowhere = {0};
	struct setting all = *s;
	int err;

	all.base = &nowhere;
	err = setting_parse_words(&all, 0, IN_SERVER);
	for (size_t i = 0; i < s->words.count; i++) {
		struct word *w = &s->words.list[i], *before;

		if (err && !is_right(s, w))
			continue;
		before = find_word(a, defaults, 0, option_of(a, w));
		if (before != NULL)
			*before = *w;
		else
			add_word(a, defaults, w);
	}
	return err;
}

/* ---- from [defaults] to a section ---- */

/* Does the section itself say what a word of [defaults] says? */
static bool section_says(const struct proxy *p, const struct option *word)
{
	/* These are also words of a section's 'check' line, or keys of the same meaning. */
	static const char *const keys[] = {
		"check",      "check-interval", "check-fast",		"check-down",	    "check-rise",
		"check-fall", "check-agent",	"check-agent-interval", "check-agent-send", "send-proxy",
	};
	const ptrdiff_t check_line = option_find(IN_BACKEND, "check").option - options;

	if (strcmp(word->key, "check-port") == 0)
		return p->from[check_line] != NULL && p->set.check.port != 0;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strcmp(word->key, keys[i]) == 0)
			return p->from[option_find(IN_BACKEND, keys[i]).option - options] != NULL;
	return false;
}

void build_inherit_server_words(const struct build *b, struct proxy *p)
{
	struct arena *a = b->diag->arena;

	p->own_defaults = p->server_defaults.count;
	for (size_t i = 0; i < b->server_defaults.count; i++) {
		const struct word *w = &b->server_defaults.list[i];
		const struct option *o = option_of(a, w);

		if (!section_says(p, o) && find_word(a, &p->server_defaults, 0, o) == NULL)
			add_word(a, &p->server_defaults, w);
	}
}

/* ---- servers ---- */

/* The weights of this set come from its records. */
static bool is_of_no_use(const struct setting *s, const struct option *o)
{
	return s->option->type == OPT_SERVERS && strcmp(o->key, "weight") == 0 &&
	       strncmp(s->words.list[0].text, "srv://", strlen("srv://")) == 0;
}

/* The line with what it inherits between its address and its own words. */
static struct words with_inherited(const struct setting *s, const struct proxy *p)
{
	struct arena *a = s->diag->arena;
	struct words all = {0};

	add_word(a, &all, &s->words.list[0]);
	for (size_t i = 0; i < p->server_defaults.count; i++) {
		const struct word *w = &p->server_defaults.list[i];
		const struct option *o = option_of(a, w);

		if (find_word(a, &s->words, 1, o) == NULL && !is_of_no_use(s, o))
			add_word(a, &all, w);
	}
	for (size_t i = 1; i < s->words.count; i++)
		add_word(a, &all, &s->words.list[i]);
	return all;
}

/* -T prints the merged line, which must not be too long to be read. */
static int validate_length(const struct setting *s, const struct words *all)
{
	size_t sum = strlen("servers  = ") + CONFIG_NAME_MAX;

	for (size_t i = 0; i < all->count; i++)
		sum += all->list[i].at.len + 1;
	if (all->count == s->words.count || sum <= READER_LINE_MAX)
		return 0;
	diag_error(s->diag, DIAG_TOO_LONG, s->words.list[0].at,
		   "with the words of 'server-defaults' this line has more than %d bytes", READER_LINE_MAX);
	diag_hint(s->diag, "shorten them");
	return -EINVAL;
}

int build_read_server(struct proxy *p, const struct entry *e, const struct setting *s,
		      const struct option_match *match)
{
	struct arena *a = s->diag->arena;
	struct config_server server = {.place = build_place(e->key_at)};
	struct setting whole = *s;
	struct at name_at = e->key_at;
	int err;

	whole.words = with_inherited(s, p);
	err = match->option->type == OPT_SERVERS ? setting_parse_servers(&whole, &server)
						 : setting_parse_server(&whole, &server);
	if (validate_length(s, &whole.words) != 0)
		err = -EINVAL;
	name_at.col += (unsigned)match->name_offset;
	name_at.len = (unsigned)strlen(match->name);
	check(name_at.len < sizeof(server.name));
	memcpy(server.name, match->name, name_at.len);
	/* A server that failed is still kept, because its name is taken. Nothing is built from it. */
	p->servers = arena_grow(a, p->servers, p->server_count, sizeof(*p->servers));
	p->server_at = arena_grow(a, p->server_at, p->server_count, sizeof(*p->server_at));
	p->server_words = arena_grow(a, p->server_words, p->server_count, sizeof(*p->server_words));
	p->server_words[p->server_count] = s->words;
	p->servers[p->server_count] = server;
	p->server_at[p->server_count++] = name_at;
	return err;
}

/* Has the server this word, be it an inherited one? */
static bool has_word(struct arena *a, const struct proxy *p, size_t i, const char *key)
{
	return setting_find_word(a, &p->server_words[i], IN_SERVER, key) != NULL ||
	       find_word(a, &p->server_defaults, 0, option_find(IN_SERVER, key).option) != NULL;
}

void build_finish_servers(struct arena *a, struct proxy *p)
{
	bool probed = p->set.check.kind != CONFIG_CHECK_OFF;

	/* "check" on a server in a section without a `check` means a TCP health check of that server only. */
	for (size_t i = 0; i < p->server_count && !probed; i++) {
		if (p->servers[i].check)
			p->set.check.kind = CONFIG_CHECK_TCP;
	}
	for (size_t i = 0; i < p->server_count; i++) {
		if (!has_word(a, p, i, "check"))
			p->servers[i].check = probed;
		if (!has_word(a, p, i, "check-agent"))
			p->servers[i].check_agent = p->set.check_agent;
		if (!has_word(a, p, i, "send-proxy"))
			p->servers[i].send_proxy = p->set.send_proxy;
		setting_set_family(&p->servers[i], p->set.resolve_family);
	}
}
