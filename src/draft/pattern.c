/* SPDX-License-Identifier: MIT
 *
 * pattern.c - expands a regular expression over server names into names.
 *
 * Alternatives, optional parts and short classes are written out. What is left is a literal, or a literal
 * behind something that stands for any text. Where the names are not quite those of the expression, it says
 * how they differ. Main thread.
 */
#include "weir/draft/pattern.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/draft/ini.h"

#define NAMES_MAX 64
#define DEPTH_MAX 8

/* What is no letter of a name, as bytes in the expanded texts. */
#define ANY_TEXT '\1'	/* .* */
#define SOME_TEXT '\2'	/* .+ */
#define ONE_LABEL '\3'	/* [^.]+ */
#define PART_TEXT '\4'	/* repeated, but not of every byte that a name may have: \d+ */
#define ANY_BYTE '\5'	/* . */
#define BEGIN_MARK '\6' /* ^ */
#define END_MARK '\7'	/* $ */
#define SPECIALS "\1\2\3\4\5\6\7"
#define TEXTS "\1\2\3\4"

struct names {
	const char *list[NAMES_MAX];
	size_t count;
};

/* Bytes that a class stands for. */
struct class {
	bool has[128];
};

struct pattern {
	struct arena *a;
	const char *product; /* whose pattern it is */
	const char *at;
	const char *differs;
	unsigned depth;
	bool failed;
};

static void parse_either(struct pattern *p, struct names *out);

static void add(struct pattern *p, struct names *to, const char *text)
{
	if (to->count == NAMES_MAX)
		p->failed = true;
	else
		to->list[to->count++] = text;
}

static void add_char(struct pattern *p, struct names *to, char c)
{
	add(p, to, arena_printf(p->a, "%c", c));
}

/* Notes once how the names differ; `fmt` has a %s for the product. */
__attribute__((format(printf, 2, 3))) static void add_difference(struct pattern *p, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = arena_vprintf(p->a, fmt, ap);
	va_end(ap);
	if (p->differs == NULL)
		p->differs = text;
	else if (strstr(p->differs, text) == NULL)
		p->differs = arena_printf(p->a, "%s; %s", p->differs, text);
}

/* How often something comes. */
struct times {
	bool many;
	bool none;    /* or not at all */
	bool limited; /* {2} */
};

/* Takes a '+', '*' or {...} behind something. */
static struct times take_times(struct pattern *p)
{
	struct times t = {.many = true, .none = *p->at == '*'};

	if (*p->at == '{') {
		t.limited = true;
		t.none = p->at[1] == '0';
		p->failed = p->failed || !isdigit((unsigned char)p->at[1]);
		p->at += strcspn(p->at, "}");
	} else if (*p->at != '+' && *p->at != '*') {
		return (struct times){.many = false};
	}
	p->at += *p->at != '\0';
	p->at += *p->at == '?';
	return t;
}

/* ---- classes ---- */

static void class_add(struct class *set, char from, char to)
{
	for (int c = from; c <= to && c >= 0; c++)
		set->has[c] = true;
}

/* "\d" and the like; false: an escape that is not known. */
static bool class_add_escape(struct class *set, char c)
{
	if (c == 'S') {
		class_add(set, '!', '~');
	} else if (c == 'w' || c == 'd') {
		class_add(set, '0', '9');
		if (c == 'd')
			return true;
		class_add(set, 'a', 'z');
		class_add(set, 'A', 'Z');
		class_add(set, '_', '_');
	} else if (ispunct((unsigned char)c)) {
		class_add(set, c, c);
	} else {
		return false;
	}
	return true;
}

static bool class_read(const char *from, const char *end, struct class *set)
{
	for (const char *c = from; c < end; c++) {
		if (*c == '\\' && c + 1 < end) {
			if (!class_add_escape(set, *++c))
				return false;
		} else if (c[1] == '-' && c + 2 < end) {
			if (c[2] == '\\')
				return false;
			class_add(set, *c, c[2]);
			c += 2;
		} else {
			class_add(set, *c, *c);
		}
	}
	return true;
}

/* What the class stands for when it is repeated. */
static char class_text(const struct class *set)
{
	static const char needed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	for (const char *c = needed; *c != '\0'; c++)
		if (!set->has[(unsigned char)*c])
			return PART_TEXT;
	return set->has['.'] ? SOME_TEXT : ONE_LABEL;
}

/* A class that is repeated stands for a part of a name; a short one that is not, for each of its bytes. */
static void add_class(struct pattern *p, struct names *out, const struct class *set)
{
	const struct times times = take_times(p);
	const char text = class_text(set);

	if (times.many) {
		add_char(p, out, times.limited ? PART_TEXT : text);
		if (times.none)
			add(p, out, "");
		return;
	}
	for (int c = '-'; c <= 'z'; c++) {
		const bool is_small_too = isupper(c) && set->has[tolower(c)];

		if (set->has[c] && !is_small_too && (isalnum(c) || strchr("-_.", c) != NULL))
			add_char(p, out, (char)c);
	}
	p->failed = p->failed || out->count == 0;
}

static void take_class(struct pattern *p, struct names *out)
{
	const bool negated = p->at[1] == '^';
	const char *from = p->at + 1 + negated, *end = strchr(from, ']');
	struct class set = {.has = {false}};

	if (end == NULL || end == from || memchr(from, '[', (size_t)(end - from)) != NULL ||
	    end[-1] == '\\' || !class_read(from, end, &set)) {
		p->failed = true;
		return;
	}
	for (size_t i = 1; i < ARRAY_LEN(set.has) && negated; i++)
		set.has[i] = !set.has[i];
	p->at = end + 1;
	p->failed = negated && strchr("+*{", *p->at) == NULL;
	add_class(p, out, &set);
}

/* ---- parts ---- */

static void take_escape(struct pattern *p, struct names *out)
{
	struct class set = {.has = {false}};
	const char c = p->at[1];

	p->failed = p->failed || (strchr(".-_", c) == NULL && strchr("wdS", c) == NULL) ||
		    !class_add_escape(&set, c);
	if (p->failed)
		return;
	p->at += 2;
	if (isalpha((unsigned char)c))
		add_class(p, out, &set);
	else
		add_char(p, out, c);
}

static void take_dot(struct pattern *p, struct names *out)
{
	struct times times;

	p->at++;
	times = take_times(p);
	if (!times.many)
		add_char(p, out, ANY_BYTE);
	else if (!times.limited)
		add_char(p, out, times.none ? ANY_TEXT : SOME_TEXT);
	else
		add_char(p, out, PART_TEXT);
	if (times.limited && times.none)
		add(p, out, "");
}

static void take_group(struct pattern *p, struct names *out)
{
	p->at++;
	if (strncmp(p->at, "?:", 2) == 0) {
		p->at += 2;
	} else if (*p->at == '?') {
		/* (?<name>...) and (?P<name>...) */
		p->failed = strcspn(p->at, "<") > 2 || strchr(p->at, '>') == NULL ||
			    strncmp(p->at, "?<=", 3) == 0 || strncmp(p->at, "?<!", 3) == 0;
		p->at += p->failed ? 0 : strcspn(p->at, ">") + 1;
	}
	if (p->failed || ++p->depth > DEPTH_MAX) {
		p->failed = true;
		return;
	}
	parse_either(p, out);
	p->depth--;
	p->failed = p->failed || *p->at != ')';
	p->at += *p->at == ')';
}

static void take_one(struct pattern *p, struct names *out)
{
	switch (*p->at) {
	case '(':
		take_group(p, out);
		return;
	case '[':
		take_class(p, out);
		return;
	case '\\':
		take_escape(p, out);
		return;
	case '.':
		take_dot(p, out);
		return;
	case '^':
	case '$':
		add_char(p, out, *p->at == '^' ? BEGIN_MARK : END_MARK);
		p->at++;
		return;
	default:
		p->failed = !isalnum((unsigned char)*p->at) && *p->at != '-' && *p->at != '_';
		if (!p->failed)
			add_char(p, out, *p->at++);
	}
}

/* "(LABEL\.)*": labels below a name. */
static bool is_labels(const struct names *n)
{
	return n->count == 1 && strlen(n->list[0]) == 2 && strchr(TEXTS, n->list[0][0]) != NULL &&
	       n->list[0][1] == '.';
}

/* What follows something: optional, or repeated. */
static void take_count(struct pattern *p, struct names *one)
{
	struct times times;
	char text;

	if (*p->at == '?') {
		p->at++;
		p->at += *p->at == '?';
		add(p, one, "");
		return;
	}
	times = take_times(p);
	if (!times.many)
		return;
	p->failed = p->failed || !is_labels(one) || times.limited;
	if (p->failed)
		return;
	text = one->list[0][0] == PART_TEXT ? PART_TEXT : SOME_TEXT;
	*one = (struct names){.list = {arena_printf(p->a, "%c.", text)}, .count = 1};
	if (times.none)
		add(p, one, "");
}

static void parse_row(struct pattern *p, struct names *out)
{
	struct names so_far = {.list = {""}, .count = 1};

	while (*p->at != '\0' && *p->at != '|' && *p->at != ')' && !p->failed) {
		struct names one = {.count = 0}, both = {.count = 0};

		take_one(p, &one);
		if (p->failed)
			return;
		take_count(p, &one);
		for (size_t i = 0; i < so_far.count; i++)
			for (size_t k = 0; k < one.count && !p->failed; k++)
				add(p, &both, arena_printf(p->a, "%s%s", so_far.list[i], one.list[k]));
		so_far = both;
	}
	for (size_t i = 0; i < so_far.count; i++)
		add(p, out, so_far.list[i]);
}

static void parse_either(struct pattern *p, struct names *out)
{
	parse_row(p, out);
	while (*p->at == '|' && !p->failed) {
		p->at++;
		parse_row(p, out);
	}
}

/* ---- names ---- */

static bool is_of_label(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Does a name end with this label? A pattern without a '$' may stop in the middle of a longer one. */
static bool may_be_last(const char *label)
{
	static const char *const longer[] = {"local",  "cloud", "internal", "online", "store",
					     "localdomain", "arpa",  "space",    "network"};
	const size_t len = strlen(label);

	for (size_t i = 0; i < ARRAY_LEN(longer); i++)
		if (strcmp(label, longer[i]) == 0)
			return true;
	return len >= 2 && len <= 4;
}

/* Without the mark of the end, and `*open` if there is none: the pattern then stands for more than the name
 * that it has, and fails if that is not a whole one. */
static const char *without_end(struct pattern *p, const char *text, bool anchored, bool *open)
{
	const bool is_name = anchored && strchr(TEXTS, text[0]) == NULL;
	size_t len = strlen(text);
	const char *dot;

	*open = true;
	for (; len > 0 && text[len - 1] == END_MARK; len--)
		*open = false;
	for (; len > 1 && text[len - 1] == ANY_TEXT; len--)
		*open = true;
	text = arena_strndup(p->a, text, len);
	if (!*open || len == 0 || (len == 1 && strchr(SPECIALS, text[0]) != NULL))
		return text;
	dot = strrchr(text, '.');
	add_difference(p, "without a '$', %s also takes names that go on behind it", p->product);
	p->failed = p->failed || dot == NULL || dot[1] == '\0' || (is_name && !may_be_last(dot + 1));
	return text;
}

/* A '.' that stands for any byte is taken for a dot where a name may have one. */
static const char *with_dots(struct pattern *p, const char *text, bool has_before)
{
	char *out = arena_strndup(p->a, text, strlen(text));

	for (char *c = out; *c != '\0'; c++) {
		if (*c != ANY_BYTE)
			continue;
		p->failed = p->failed || !is_of_label(c[1]) || (c == out ? !has_before : !is_of_label(c[-1]));
		*c = '.';
		add_difference(p, "%s's '.' stands for any byte, weir's for a dot", p->product);
	}
	p->failed = p->failed || strpbrk(out, SPECIALS) != NULL;
	return out;
}

/* No name begins or ends with a dot, or has two in a row. */
static bool is_no_name(const char *text)
{
	const size_t len = strlen(text);

	return len == 0 || text[0] == '.' || text[len - 1] == '.' || strstr(text, "..") != NULL;
}

/* The name for what stands behind "any text"; `open`: the pattern goes on before that. */
static const char *name_behind(struct pattern *p, char head, const char *rest, bool open)
{
	p->failed = p->failed || is_no_name(rest[0] == '.' ? rest + 1 : rest);
	if (rest[0] == '.') {
		if (head == ONE_LABEL && !open)
			add_difference(p, "weir's *.NAME is for names at any depth below NAME");
		if (head == PART_TEXT)
			add_difference(p, "%s takes only some of the names below it, weir all", p->product);
		return arena_printf(p->a, "*%s", rest);
	}
	p->failed = p->failed || head == ONE_LABEL || head == PART_TEXT || !isalnum((unsigned char)rest[0]) ||
		    strchr(rest, '.') == NULL;
	add_difference(p, "%s also takes names that only end so; weir the name, and those below it",
		       p->product);
	return arena_printf(p->a, ".%s", rest);
}

/* NULL: no name fits. */
static const char *name_of(struct pattern *p, const char *text)
{
	const bool open = text[0] != BEGIN_MARK;
	bool open_end;

	while (*text == BEGIN_MARK)
		text++;
	text = without_end(p, text, !open, &open_end);
	if (text[0] == '\0')
		return open || open_end ? "any" : NULL;
	if (strchr(TEXTS, text[0]) != NULL && text[1] == '\0') {
		p->failed = p->failed || text[0] == PART_TEXT ||
			    (text[0] == ONE_LABEL && !open && !open_end);
		return "any";
	}
	if (strchr(TEXTS, text[0]) != NULL)
		return name_behind(p, text[0], with_dots(p, text + 1, true), open);
	text = with_dots(p, text, open);
	if (open)
		return name_behind(p, ANY_TEXT, text, true);
	return is_no_name(text) ? NULL : text;
}

/* NAME and *.NAME are .NAME; returns whether `a` now stands for both. */
static bool merge(struct pattern *p, const char **a, const char *b)
{
	if (strcmp(*a, b) == 0)
		return true;
	if ((strncmp(b, "*.", 2) == 0 && strcmp(*a, b + 2) == 0) ||
	    (strncmp(*a, "*.", 2) == 0 && strcmp(*a + 2, b) == 0)) {
		*a = arena_printf(p->a, ".%s", strncmp(b, "*.", 2) == 0 ? *a : b);
		return true;
	}
	return false;
}

const char *pattern_names(struct arena *a, const char *product, const char *text, const char **differs)
{
	struct pattern p = {.a = a, .product = product, .at = text};
	struct names all = {.count = 0}, names = {.count = 0};
	const char *out = "";

	*differs = NULL;
	if (strpbrk(text, SPECIALS) != NULL)
		return NULL;
	parse_either(&p, &all);
	for (size_t i = 0; i < all.count && !p.failed && *p.at == '\0'; i++) {
		const char *name = name_of(&p, all.list[i]);
		bool merged = name == NULL;

		for (size_t k = 0; k < names.count && !merged; k++)
			merged = merge(&p, &names.list[k], name);
		if (!merged)
			add(&p, &names, name);
	}
	if (p.failed || *p.at != '\0')
		return NULL;
	*differs = p.differs;
	for (size_t i = 0; i < names.count; i++)
		if (strcmp(names.list[i], "any") == 0)
			return "any";
	for (size_t i = 0; i < names.count; i++)
		out = arena_printf(a, "%s%s%s", out, i > 0 ? "," : "", names.list[i]);
	return out;
}
