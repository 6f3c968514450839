/* SPDX-License-Identifier: MIT
 *
 * haproxy_bind.c - `bind` lines, and the address that old files have behind the name of a section.
 *
 * Main thread.
 */
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"

enum act { ACT_VALUE, ACT_FLAG, ACT_DROP, ACT_DROP_VALUE, ACT_OWNER };

/* The words of a bind line. */
static const struct {
	const char *word;
	enum act act;
	const char *ours;
} words[] = {
	{"backlog", ACT_VALUE, "backlog"},
	{"interface", ACT_VALUE, "interface"},
	{"mode", ACT_VALUE, "mode"},
	{"user", ACT_OWNER, "user"},
	{"group", ACT_OWNER, "group"},
	{"uid", ACT_OWNER, "user"},
	{"gid", ACT_OWNER, "group"},
	{"accept-proxy", ACT_FLAG, "accept-proxy"},
	{"defer-accept", ACT_FLAG, "defer-accept"},
	{"transparent", ACT_FLAG, "transparent"},
	{"tfo", ACT_FLAG, "tfo"},
	{"v6only", ACT_FLAG, "v6only"},
	{"v4v6", ACT_DROP, NULL},
	{"nice", ACT_DROP_VALUE, NULL},
	{"id", ACT_DROP_VALUE, NULL},
	{"process", ACT_DROP_VALUE, NULL},
	{"thread", ACT_DROP_VALUE, NULL},
	{"shards", ACT_DROP_VALUE, NULL},
	{"level", ACT_DROP_VALUE, NULL},
	{"alpn", ACT_DROP_VALUE, NULL},
	{"npn", ACT_DROP_VALUE, NULL},
};

struct bind {
	const char *options;
	const char *stand_in;
	const char *name;
	const char *maxconn; /* NULL = none */
	bool proxy;
};

static size_t take_word(struct haproxy *h, struct old_line *line, size_t i, struct bind *b)
{
	const char *word = line->words[i], *value = old_word(line, i + 1);

	if (strcmp(word, "name") == 0) {
		b->name = value;
		return 2;
	}
	if (strcmp(word, "maxconn") == 0) {
		b->maxconn = value;
		return 2;
	}
	for (size_t n = 0; n < ARRAY_LEN(words); n++) {
		const char *text;

		if (strcmp(word, words[n].word) != 0)
			continue;
		b->proxy = b->proxy || strcmp(word, "accept-proxy") == 0;
		if (words[n].act == ACT_DROP || words[n].act == ACT_DROP_VALUE)
			return words[n].act == ACT_DROP ? 1 : 2;
		text = words[n].act == ACT_FLAG ? words[n].ours
						: arena_printf(h->arena, "%s=%s", words[n].ours, value);
		b->options = ini_join(h->arena, b->options, text);
		if (words[n].act != ACT_OWNER)
			b->stand_in = ini_join(h->arena, b->stand_in, text);
		return words[n].act == ACT_FLAG ? 1 : 2;
	}
	if (!work_word_by_table(h->work, line, word))
		old_set(h->arena, line, OLD_LOST, "'%s' of bind", word);
	return 1;
}

static void add_bind(struct haproxy *h, struct proxy *p, struct old_line *line, const char *address,
		     const struct bind *b, unsigned number)
{
	const char *key = b->name == NULL ? "bind"
			  : number == 0	  ? arena_printf(h->arena, "bind %s", b->name)
					  : arena_printf(h->arena, "bind %s-%u", b->name, number + 1);
	const char *ours = haproxy_address(h->arena, address, true);
	struct ini_line *out = ini_add(h->ini, p->out, line, key, "%s", ini_join(h->arena, ours, b->options));

	if (strcmp(b->options, b->stand_in) != 0)
		out->stand_in = ini_join(h->arena, ours, b->stand_in);
	/* Its own addresses are those of the target machine. */
	if (strchr(ours, '$') != NULL)
		out->stand_in = "";
}

/* Adds each address of a list. */
static void add_binds(struct haproxy *h, struct proxy *p, struct old_line *line, const char *list,
		      const struct bind *b)
{
	unsigned number = 0;

	while (*list != '\0') {
		const size_t len = strcspn(list, ",");

		if (len > 0)
			add_bind(h, p, line, arena_strndup(h->arena, list, len), b, number++);
		list += len + (list[len] == ',');
	}
}

/* maxconn of a bind line is that of the section if it has no other address and no limit. */
static void add_maxconn(struct haproxy *h, struct proxy *p, struct old_line *line, const struct bind *b)
{
	if (b->maxconn == NULL)
		return;
	if (p->lists[LIST_BIND].count == 1 && !slot_on(p, SLOT_MAXCONN))
		ini_add(h->ini, p->out, line, "maxconn", "%s", b->maxconn);
	else
		old_set(h->arena, line, OLD_LOST,
			"a limit for one address: write maxconn for all of the section");
}

static bool has_tls(const struct old_line *line)
{
	for (size_t i = 2; i < line->count; i++)
		if (strcmp(line->words[i], "ssl") == 0)
			return true;
	return false;
}

void haproxy_binds(struct haproxy *h, struct proxy *p)
{
	const struct bind none = {.options = "", .stand_in = ""};
	bool proxy = false;

	if (p->head->count > 2 && strchr(p->head->words[2], ':') != NULL)
		add_binds(h, p, p->head, p->head->words[2], &none);
	for (size_t i = 0; i < p->lists[LIST_BIND].count; i++) {
		struct old_line *line = p->lists[LIST_BIND].list[i];
		struct bind b = none;

		if (has_tls(line)) {
			old_set(h->arena, line, OLD_NOT_OURS,
				"weir does not terminate TLS, it passes it through");
			continue;
		}
		for (size_t w = 2; w < line->count;)
			w += take_word(h, line, w, &b);
		add_binds(h, p, line, old_word(line, 1), &b);
		add_maxconn(h, p, line, &b);
		proxy = proxy || b.proxy;
	}
	ini_join_families(h->ini, p->out);
	/* How long a client may take for its PROXY header. */
	if (proxy && slot_on(p, SLOT_CLIENT_HS))
		slot_add(h, p, SLOT_CLIENT_HS, "timeout-handshake",
			 work_duration(h->arena, slot_ms(h, p, SLOT_CLIENT_HS)));
	else if (proxy && slot_on(p, SLOT_CLIENT))
		ini_add(h->ini, p->out, NULL, "timeout-handshake", "%s",
			work_duration(h->arena, slot_ms(h, p, SLOT_CLIENT)));
}
