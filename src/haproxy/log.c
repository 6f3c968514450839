/* SPDX-License-Identifier: MIT
 *
 * log.c - where logs go, and log-format: the logs of all sections are those of [global] in weir.
 *
 * Main thread.
 */
#include <ctype.h>
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/log_format.h"
#include "weir/config/options.h"

static struct ini_section *global(struct haproxy *h)
{
	return ini_only(h->ini, IN_GLOBAL);
}

static bool is_stream(const char *target)
{
	return strcmp(target, "stdout") == 0 || strcmp(target, "stderr") == 0 ||
	       strcmp(target, "fd@1") == 0 || strcmp(target, "fd@2") == 0;
}

static void add_log(struct haproxy *h, struct old_line *line)
{
	const char *target = old_word(line, 1), *text, *level = NULL, *facility = "";
	struct ini_line *out;

	for (size_t i = 2; i < line->count; i++) {
		const char *word = line->words[i];

		if (strcmp(word, "sample") == 0)
			old_set(h->arena, line, OLD_DIFFERENT,
				"every session is logged: log-sample in the frontends takes a share of them");
		if (strcmp(word, "len") == 0 || strcmp(word, "format") == 0 || strcmp(word, "sample") == 0 ||
		    strcmp(word, "profile") == 0) {
			i++;
		} else if (facility[0] == '\0') {
			facility = word;
		} else if (level == NULL && work_log_level(word) != NULL) {
			level = work_log_level(word);
		}
	}
	if (strncmp(target, "fd@", 3) == 0 && !is_stream(target)) {
		old_set(h->arena, line, OLD_LOST, "write log = file:PATH, stderr or syslog:ADDRESS");
		return;
	}
	if (is_stream(target))
		text = "auto";
	else
		text = arena_printf(h->arena, "syslog:%s facility=%s",
				    strncmp(target, "udp@", 4) == 0 ? target + 4 : target,
				    strcmp(facility, "auth2") == 0 ? "authpriv" : facility);
	if (!work_log_is_new(h->work, line, text))
		return;
	if (level != NULL)
		text = arena_printf(h->arena, "%s level=%s", text, level);
	if (h->log_format != NULL)
		text = arena_printf(h->arena, "%s format=%s", text,
				    ini_quote(h->arena, h->log_format, strlen(h->log_format)));
	else if (h->tcplog)
		text = arena_printf(h->arena, "%s format=tcplog", text);
	out = ini_add(h->ini, global(h), line, "log", "%s", text);
	if (strstr(text, "${") != NULL)
		out->stand_in = work_without_variables(h->arena, text, "syslog:192.0.2.1");
	if (strcmp(target, "stdout") == 0)
		old_set(h->arena, line, OLD_DIFFERENT, "to stderr, or to the journal under systemd");
}

static void add_logs_of(struct haproxy *h, const struct proxy *p)
{
	if (p->out != NULL && IS_FRONT(p) && p->no_log != NULL && p->lists[LIST_LOG].count == 0)
		old_set(h->arena, p->no_log, OLD_DIFFERENT,
			"weir logs the sessions of all sections, or of none");
	for (size_t i = 0; p->kind == PROXY_GLOBAL && i < p->all.count; i++)
		if (strcmp(p->all.list[i]->words[0], "log") == 0)
			add_log(h, p->all.list[i]);
	for (size_t i = 0; p->out != NULL && i < p->lists[LIST_LOG].count; i++) {
		struct old_line *line = p->lists[LIST_LOG].list[i];

		if (line->fate != OLD_OPEN)
			continue;
		if (strcmp(old_word(line, 1), "global") == 0)
			old_set(h->arena, line, OLD_CARRIED, NULL);
		else
			add_log(h, line);
	}
}

/* How many sections with clients log to a target. */
struct target {
	const struct proxy *last;
	size_t count;
};

static size_t count_targets(struct haproxy *h, struct index *targets)
{
	size_t fronts = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct proxy *p = h->proxies[i];

		if (p->out == NULL || !IS_FRONT(p))
			continue;
		fronts++;
		for (size_t l = 0; l < p->lists[LIST_LOG].count; l++) {
			const char *name = old_word(p->lists[LIST_LOG].list[l], 1);
			struct target *t = index_find(targets, name);

			if (t == NULL) {
				t = arena_alloc(h->arena, sizeof(*t));
				*t = (struct target){.last = NULL};
				index_put(h->arena, targets, name, t);
			}
			t->count += t->last != p;
			t->last = p;
		}
	}
	return fronts;
}

/* A section's own log has its own sessions in HAProxy. */
static void judge_logs(struct haproxy *h)
{
	struct index targets = {.count = 0};
	const size_t fronts = count_targets(h, &targets);

	for (size_t i = 0; i < h->count; i++) {
		const struct proxy *p = h->proxies[i];

		for (size_t l = 0; p->out != NULL && l < p->lists[LIST_LOG].count; l++) {
			struct old_line *line = p->lists[LIST_LOG].list[l];
			const struct target *t = index_find(&targets, old_word(line, 1));

			if (strcmp(old_word(line, 1), "global") != 0 && (t == NULL || t->count < fronts))
				old_set(h->arena, line, OLD_DIFFERENT,
					"weir logs the sessions of all sections to the targets of [global]");
		}
	}
}

/* ---- formats ---- */

/* The field for a name behind a '%', NULL = none. */
static const char *field_of(const char *name)
{
	static const char *const others[][2] = {
	    {"f", "%ft"}, {"tr", "%t"}, {"ID", "unique_id"}, {"H", "-"}, {"o", ""}};
	static const char *const ours[] = {
#define LOG_NAME(id, word, what) word,
#include "weir/config/log_names.tbl.h"
#undef LOG_NAME
	};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (ours[i][0] == '%' && strcmp(ours[i] + 1, name) == 0)
			return ours[i];
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(others[i][0], name) == 0 && others[i][1][0] != '-')
			return others[i][1];
	return NULL;
}

/* The field for what is between the brackets of %[...], NULL = none. */
static const char *field_of_sample(struct haproxy *h, const struct proxy *p, const char *text)
{
	static const char *const samples[][2] = {
	    {"src", "%ci"}, {"src_port", "%cp"}, {"req.ssl_sni", "sni"}, {"req_ssl_sni", "sni"},
	    {"fe_name", "%ft"}, {"be_name", "%b"}, {"srv_name", "%s"}, {"unique-id", "unique_id"}};

	if (haproxy_sample_of(h, p, text) != NULL)
		text = haproxy_sample_of(h, p, text);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (strcmp(samples[i][0], text) == 0)
			return samples[i][1];
	return NULL;
}

/* A format while it is read. */
struct formatting {
	struct haproxy *h;
	const struct proxy *p;
	const char *out;
	const char *missing; /* the first field that weir does not have, or NULL */
};

/* Takes what follows a '%' at `text`; returns what is behind it. */
static const char *take_field(struct formatting *f, const char *text)
{
	struct arena *a = f->h->arena;
	const char *field, *name;
	size_t len;

	if (*text == '%') {
		f->out = arena_printf(a, "%s%%", f->out);
		return text + 1;
	}
	if (*text == '{') { /* flags, such as +Q for quotes */
		text += strcspn(text, "}");
		text += *text == '}';
	}
	if (*text == '[') {
		len = strcspn(text, "]");
		name = arena_strndup(a, text + 1, len > 0 ? len - 1 : 0);
		field = field_of_sample(f->h, f->p, name);
		text += len + (text[len] == ']');
	} else {
		len = 0;
		while (isalnum((unsigned char)text[len]))
			len++;
		name = arena_strndup(a, text, len);
		field = field_of(name);
		text += len;
	}
	if (field == NULL) {
		f->missing = f->missing == NULL ? name : f->missing;
		f->out = arena_printf(a, "%s-", f->out);
	} else if (field[0] != '\0') {
		f->out = arena_printf(a, "%s{%s}", f->out, field);
	}
	return text;
}

/* HAProxy's format in our words, in `f->out`. */
static void read_format(struct formatting *f, const char *text)
{
	while (*text != '\0') {
		const size_t plain = strcspn(text, "%{}");

		f->out = arena_printf(f->h->arena, "%s%.*s", f->out, (int)plain, text);
		text += plain;
		if (*text == '%') {
			text = take_field(f, text + 1);
		} else if (*text != '\0') {
			f->out = arena_printf(f->h->arena, "%s%c%c", f->out, *text, *text);
			text++;
		}
	}
}

static bool has_field(const struct log_format *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->pieces[i].name != LOG_NAME_NONE)
			return true;
	return false;
}

/* log-format of a section: weir has one for all. */
static void take_format(struct haproxy *h, const struct proxy *p, const struct old_line **from)
{
	struct old_line *line = p->slots[SLOT_LOG_FORMAT].line;
	struct log_format_fault fault;
	struct log_format parsed;
	struct formatting f = {.h = h, .p = p, .out = ""};
	const char *text;

	if (line == *from)
		return;
	read_format(&f, slot_word(p, SLOT_LOG_FORMAT, 0));
	text = f.out;
	if (log_format_parse(&parsed, text, &fault) != 0 || !has_field(&parsed)) {
		old_set(h->arena, line, OLD_DIFFERENT, "weir's own format: this one %s",
			strlen(text) > LOG_FORMAT_MAX ? "is too long" : "has no field of weir's");
		return;
	}
	if (h->log_format != NULL && strcmp(h->log_format, text) != 0) {
		old_set(h->arena, line, OLD_DIFFERENT,
			"weir has one format for all sections: that of line %u",
			(*from)->line);
		return;
	}
	h->log_format = text;
	*from = line;
	old_set(h->arena, line, OLD_CARRIED, NULL);
	if (f.missing != NULL)
		old_set(h->arena, line, OLD_DIFFERENT, "weir's logs have no %%%s: '-' is in its place",
			f.missing);
}

void haproxy_log(struct haproxy *h)
{
	const struct old_line *from = NULL;

	for (size_t i = 0; i < h->count; i++)
		if (h->proxies[i]->out != NULL && slot_on(h->proxies[i], SLOT_LOG_FORMAT))
			take_format(h, h->proxies[i], &from);
	for (size_t i = 0; i < h->count && h->log_format != NULL; i++)
		if (h->proxies[i]->out != NULL && slot_on(h->proxies[i], SLOT_TCPLOG))
			old_set(h->arena, h->proxies[i]->slots[SLOT_TCPLOG].line, OLD_DIFFERENT,
				"weir has one format for all sections: that of line %u", from->line);
	for (size_t i = 0; i < h->count; i++)
		add_logs_of(h, h->proxies[i]);
	judge_logs(h);
	if (!h->exec)
		return;
	ini_add(h->ini, global(h), NULL, "exec-checks", "4")->stand_in = "";
	work_note(h->work, "a weir that stays root runs no programs: for a start by root, and not by "
			   "weir.service, name a 'user' in [global]");
}
