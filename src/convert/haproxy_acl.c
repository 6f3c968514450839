/* SPDX-License-Identifier: MIT
 *
 * haproxy_acl.c - HAProxy's conditions: acl lines, and what follows `if` and `unless`.
 *
 * A condition becomes alternatives of terms that must all hold, as `use-backend` lines are. Main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

#define TERMS_MAX 16

/* A criterion with its flags and values. */
struct criterion {
	const char *name;     /* "req.ssl_sni" without arguments */
	const char *argument; /* between parentheses; "" = none */
	const char *match;    /* -m */
	const char *op;	      /* gt, ge, lt, le, eq */
	const char **values;
	size_t count;
	const char **files;
	size_t file_count;
	bool converted; /* a converter follows, such as ",lower" */
};

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Takes "_end" and the like from the end of the name, as a match. */
static void take_suffix(struct arena *a, struct criterion *c)
{
	static const char *const suffixes[] = {"_end", "_reg", "_beg", "_sub", "_dom", "_str"};

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (!ends_with(c->name, suffixes[i]))
			continue;
		c->match = suffixes[i] + 1;
		c->name = arena_strndup(a, c->name, strlen(c->name) - strlen(suffixes[i]));
	}
}

static void read_criterion(struct arena *a, const char *const *words, size_t count, struct criterion *c)
{
	const char *name = words[0], *open = strchr(name, '('), *comma;

	*c = (struct criterion){.argument = "", .match = "", .op = ""};
	c->values = arena_alloc(a, (count + 1) * sizeof(*c->values));
	c->files = arena_alloc(a, (count + 1) * sizeof(*c->files));
	c->name = arena_strndup(a, name, strcspn(name, "(,"));
	if (open != NULL)
		c->argument = arena_strndup(a, open + 1, strcspn(open + 1, ")"));
	comma = strchr(open != NULL && strchr(open, ')') != NULL ? strchr(open, ')') : name, ',');
	c->converted = comma != NULL && strcmp(comma, ",lower") != 0;
	take_suffix(a, c);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(words[i], "--") == 0)
			continue;
		if (strcmp(words[i], "-i") == 0 || strcmp(words[i], "-n") == 0)
			continue;
		if (strcmp(words[i], "-m") == 0 && i + 1 < count)
			c->match = words[++i];
		else if (strcmp(words[i], "-f") == 0 && i + 1 < count)
			c->files[c->file_count++] = words[++i];
		else if (c->count == 0 && strlen(words[i]) == 2 && strstr("gt ge lt le eq", words[i]) != NULL)
			c->op = words[i];
		else
			c->values[c->count++] = words[i];
	}
}

static const char *with_files(struct arena *a, const struct criterion *c, struct term *t)
{
	const char *text = work_joined(a, c->values, c->count, ",");

	for (size_t i = 0; i < c->file_count; i++) {
		text = arena_printf(a, "%s%s@%s", text, text[0] != '\0' ? "," : "", c->files[i]);
		t->file = true;
	}
	return text;
}

static void other(struct arena *a, struct term *t, const char *why)
{
	t->kind = TERM_OTHER;
	t->value = arena_printf(a, "%s", why);
}

static void take_sni(struct arena *a, struct criterion *c, struct term *t)
{
	t->kind = TERM_SNI;
	if (c->converted) {
		other(a, t, "a converter of HAProxy");
		return;
	}
	if (strcmp(c->match, "found") == 0) {
		t->kind = TERM_ANY_SNI;
		return;
	}
	for (size_t i = 0; i < c->count; i++) {
		const char *v = c->values[i];

		if (strcmp(c->match, "end") == 0 && v[0] == '.') {
			c->values[i] = arena_printf(a, "*%s", v);
		} else if (strcmp(c->match, "end") == 0 || strcmp(c->match, "dom") == 0) {
			t->differs = arena_printf(a, "only '%s' itself and the names below it", v);
			c->values[i] = arena_printf(a, ".%s", v[0] == '.' ? v + 1 : v);
		} else if (strcmp(c->match, "reg") == 0) {
			c->values[i] = work_name_of_pattern(a, v);
			if (c->values[i] == NULL) {
				other(a, t, "a regular expression: write the names, or *.NAME");
				return;
			}
		} else if (c->match[0] != '\0' && strcmp(c->match, "str") != 0) {
			other(a, t, "part of a name: write the names, or *.NAME");
			return;
		}
	}
	if (c->file_count > 0 && c->match[0] != '\0' && strcmp(c->match, "str") != 0) {
		other(a, t, "a file of patterns: weir takes a file of names, @FILE");
		return;
	}
	t->value = with_files(a, c, t);
}

static void take_number(struct arena *a, const struct criterion *c, struct term *t, enum term_kind kind)
{
	const char *text = c->count > 0 ? c->values[0] : "";

	t->kind = kind;
	t->number = (unsigned)strtoul(text, NULL, 10);
	if (strcmp(c->op, "ge") == 0 && t->number > 0)
		t->number--;
	else if (strcmp(c->op, "gt") != 0)
		other(a, t, "a count that is compared in another way than gt and ge");
}

static void take_port(struct arena *a, struct criterion *c, struct term *t)
{
	const unsigned long n = c->count > 0 ? strtoul(c->values[0], NULL, 10) : 0;

	t->kind = TERM_PORT;
	for (size_t i = 0; i < c->count; i++) {
		char *copy = arena_strndup(a, c->values[i], strlen(c->values[i])), *colon = strchr(copy, ':');

		if (colon != NULL)
			*colon = '-';
		c->values[i] = copy;
	}
	if (strcmp(c->op, "gt") == 0 || strcmp(c->op, "ge") == 0)
		t->value = arena_printf(a, "%lu-65535", n + (c->op[1] == 't'));
	else if (strcmp(c->op, "lt") == 0 || strcmp(c->op, "le") == 0)
		t->value = arena_printf(a, "1-%lu", n - (c->op[1] == 't'));
	else
		t->value = with_files(a, c, t);
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static const char *const sni_names[] = {"req.ssl_sni", "req_ssl_sni", "ssl_fc_sni", NULL};
static const char *const hello_names[] = {"req.ssl_hello_type", "req_ssl_hello_type", "req.ssl_ver",
					  "req_ssl_ver", NULL};
static const char *const rate_names[] = {"src_conn_rate", "sc0_conn_rate", "sc1_conn_rate", "sc2_conn_rate",
					 "sc_conn_rate",  "src_sess_rate", "sc0_sess_rate", NULL};
static const char *const open_names[] = {"src_conn_cur", "sc0_conn_cur", "sc1_conn_cur",
					 "sc2_conn_cur", "sc_conn_cur",	 NULL};
static const char *const payload_names[] = {"req.payload", "payload", "req.payload_lv", NULL};
static const char *const rdp_names[] = {"req.rdp_cookie", "rdp_cookie",		"req.rdp_cookie_cnt",
					"rdp_cookie_cnt", "req_rdp_cookie_cnt", NULL};

static void take_criterion(struct arena *a, struct criterion *c, struct term *t)
{
	if (strcmp(c->name, "src") == 0 && !c->converted) {
		t->kind = TERM_SRC;
		t->value = with_files(a, c, t);
	} else if (strcmp(c->name, "dst_port") == 0) {
		take_port(a, c, t);
	} else if (is_one_of(c->name, sni_names)) {
		take_sni(a, c, t);
	} else if (is_one_of(c->name, hello_names)) {
		t->kind = TERM_TLS;
	} else if (strcmp(c->name, "req.ssl_alpn") == 0 && !c->converted) {
		t->kind = TERM_ALPN;
		t->value = work_joined(a, c->values, c->count, ",");
	} else if (strcmp(c->name, "req.proto_http") == 0 || strcmp(c->name, "req_proto_http") == 0) {
		t->kind = TERM_HTTP;
	} else if (is_one_of(c->name, payload_names) && c->count == 1 &&
		   strncasecmp(c->values[0], "5353482d", 8) == 0) {
		t->kind = TERM_SSH;
	} else if (is_one_of(c->name, rdp_names)) {
		t->kind = TERM_RDP;
	} else if (strcmp(c->name, "nbsrv") == 0 && c->count == 1 &&
		   ((strcmp(c->op, "lt") == 0 && strcmp(c->values[0], "1") == 0) ||
		    (strcmp(c->op, "lt") != 0 && c->op[0] != 'g' && strcmp(c->values[0], "0") == 0))) {
		t->kind = TERM_NONE_UP;
		t->name = c->argument;
	} else if (is_one_of(c->name, rate_names)) {
		take_number(a, c, t, TERM_RATE);
		t->name = c->name[1] == 'r' ? c->argument : "";
	} else if (is_one_of(c->name, open_names)) {
		take_number(a, c, t, TERM_OPEN);
	} else if (strcmp(c->name, "always_true") == 0 || strcmp(c->name, "req.len") == 0 ||
		   strcmp(c->name, "req_len") == 0 || strcmp(c->name, "wait_end") == 0) {
		t->kind = TERM_TRUE;
	} else if (strcmp(c->name, "always_false") == 0) {
		t->kind = TERM_FALSE;
	} else {
		other(a, t, arena_printf(a, "'%s' is nothing that weir decides by", c->name));
	}
}

/* HAProxy's own names of conditions. */
static bool take_predefined(const char *name, struct term *t)
{
	static const struct {
		const char *name;
		enum term_kind kind;
	} known[] = {{"TRUE", TERM_TRUE}, {"FALSE", TERM_FALSE},      {"WAIT_END", TERM_TRUE},
		     {"HTTP", TERM_HTTP}, {"REQ_CONTENT", TERM_TRUE}, {"RDP_COOKIE", TERM_RDP}};

	if (strcmp(name, "LOCALHOST") == 0) {
		t->kind = TERM_SRC;
		t->value = "127.0.0.0/8,::1";
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		t->kind = known[i].kind;
		return true;
	}
	return false;
}

/* ---- alternatives ---- */

static struct term *new_term(struct haproxy *h, const char *const *words, size_t count, struct old_line *acl)
{
	struct term *t = arena_alloc(h->arena, sizeof(*t));
	struct criterion c;

	read_criterion(h->arena, words, count, &c);
	t->acl = acl;
	t->name = "";
	take_criterion(h->arena, &c, t);
	return t;
}

/* Adds the term to each alternative of `part`. */
static bool add_term(struct haproxy *h, struct term **terms, size_t *count, struct term *t)
{
	(void)h;
	if (*count == TERMS_MAX)
		return false;
	terms[(*count)++] = t;
	return true;
}

/* All acl lines of this name, each an alternative. */
static size_t named(struct haproxy *h, struct proxy *p, const char *name, struct term **found, size_t max)
{
	const struct old_lines *acls = &p->lists[LIST_ACL];
	size_t count = 0;

	for (size_t i = 0; i < acls->count && count < max; i++) {
		struct old_line *line = acls->list[i];

		if (strcmp(old_word(line, 1), name) == 0 && line->count > 2)
			found[count++] = new_term(h, line->words + 2, line->count - 2, line);
	}
	return count;
}

/* Alternatives while one conjunction is read. */
struct product {
	struct term *terms[64][TERMS_MAX];
	size_t counts[64];
	size_t count;
};

/* Every alternative so far, with each of `found`. */
static bool multiply(struct haproxy *h, struct product *x, struct term *const *found, size_t count,
		     bool negated)
{
	const size_t before = x->count;

	if (negated) { /* none of them: all negated must hold */
		for (size_t i = 0; i < before; i++)
			for (size_t f = 0; f < count; f++) {
				struct term *t = arena_alloc(h->arena, sizeof(*t));

				*t = *found[f];
				t->negated = !t->negated;
				if (!add_term(h, x->terms[i], &x->counts[i], t))
					return false;
			}
		return true;
	}
	if (before * count > 64)
		return false;
	for (size_t f = 1; f < count; f++)
		for (size_t i = 0; i < before; i++) {
			memcpy(x->terms[x->count], x->terms[i], sizeof(x->terms[0]));
			x->counts[x->count] = x->counts[i];
			if (!add_term(h, x->terms[x->count], &x->counts[x->count], found[f]))
				return false;
			x->count++;
		}
	for (size_t i = 0; i < before; i++)
		if (!add_term(h, x->terms[i], &x->counts[i], found[0]))
			return false;
	return true;
}

static bool flush(struct haproxy *h, struct product *x, struct condition *c)
{
	for (size_t i = 0; i < x->count; i++) {
		if (c->count == ARRAY_LEN(c->all))
			return false;
		c->all[c->count] = arena_alloc(h->arena, sizeof(x->terms[0]));
		memcpy(c->all[c->count], x->terms[i], sizeof(x->terms[0]));
		c->counts[c->count++] = x->counts[i];
	}
	x->count = 1;
	x->counts[0] = 0;
	return true;
}

/* Takes one term at `words`; returns how many words it has, 0 after an error. */
static size_t take_one(struct haproxy *h, struct proxy *p, const char *const *words, size_t count,
		       struct product *x, struct condition *c)
{
	struct term *found[32] = {NULL};
	bool negated = false;
	size_t at = 0, n = 0;
	const char *name = words[0];

	while (name[0] == '!') {
		negated = !negated;
		name++;
		if (name[0] == '\0' && at + 1 < count)
			name = words[++at];
	}
	if (strcmp(name, "{") == 0) {
		size_t end = at + 1;

		while (end < count && strcmp(words[end], "}") != 0)
			end++;
		if (end == count || end == at + 1) {
			c->error = "a '{' without its '}'";
			return 0;
		}
		found[0] = new_term(h, words + at + 1, end - at - 1, NULL);
		n = 1;
		at = end;
	} else {
		n = named(h, p, name, found, ARRAY_LEN(found));
		if (n == 0) {
			found[0] = arena_alloc(h->arena, sizeof(*found[0]));
			found[0]->name = "";
			if (!take_predefined(name, found[0]))
				other(h->arena, found[0],
				      arena_printf(h->arena, "there is no acl '%s' here", name));
			n = 1;
		}
	}
	if (!multiply(h, x, found, n, negated)) {
		c->error = "too many alternatives";
		return 0;
	}
	return at + 1;
}

void haproxy_terms(struct haproxy *h, struct proxy *p, const char *const *words, size_t count, bool unless,
		   struct condition *c)
{
	struct product *x = arena_alloc(h->arena, sizeof(*x));

	*c = (struct condition){.count = 0};
	x->count = 1;
	for (size_t i = 0; i < count;) {
		size_t used;

		if (strcmp(words[i], "or") == 0 || strcmp(words[i], "||") == 0) {
			if (!flush(h, x, c))
				c->error = "too many alternatives";
			i++;
			continue;
		}
		used = take_one(h, p, words + i, count - i, x, c);
		if (used == 0)
			return;
		i += used;
	}
	if (!flush(h, x, c))
		c->error = "too many alternatives";
	if (!unless)
		return;
	/* Not (a or b) is (not a and not b); not (a and b) is two alternatives. */
	if (c->count == 1) {
		struct term **all = c->all[0];
		const size_t terms = c->counts[0];

		for (size_t i = 0; i < terms; i++) {
			all[i]->negated = !all[i]->negated;
			c->all[i] = &all[i];
			c->counts[i] = 1;
		}
		c->count = terms;
		return;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (c->counts[i] != 1)
			c->error = "'unless' with alternatives";
		else
			c->all[i][0]->negated = !c->all[i][0]->negated;
		if (i > 0 && c->error == NULL)
			c->all[0][c->counts[0]++] = c->all[i][0];
		if (c->counts[0] >= TERMS_MAX)
			c->error = "too many alternatives";
		if (c->error != NULL)
			return;
	}
	c->count = 1;
}

const struct term *condition_other(const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			if (c->all[i][t]->kind == TERM_OTHER)
				return c->all[i][t];
	return NULL;
}

void condition_carried(struct haproxy *h, const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			if (c->all[i][t]->acl != NULL)
				old_set(h->arena, c->all[i][t]->acl, OLD_CARRIED, NULL);
}
