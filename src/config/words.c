/* SPDX-License-Identifier: MIT
 *
 * words.c - splits a value into words: removes quotes, expands variables, keeps columns.
 *
 * Rejects open quotes, undefined variables and variables with control bytes in them. Main thread.
 */
#include "weir/config/words.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

/* The value being split. */
struct cutter {
	struct diag *diag;
	struct at start; /* of the value */
	const char *value;
	size_t pos;
	char quote; /* open quote, 0 = none */
	size_t quote_pos;
	bool in_word;
	size_t word_pos; /* where the current word begins in `value` */
	char *text;	 /* the current word */
	unsigned *cols;
	size_t len;
	struct words *out;
};

static struct at cutter_at(const struct cutter *c, size_t pos, size_t len)
{
	struct at at = c->start;

	at.col += (unsigned)pos;
	at.len = (unsigned)len;
	return at;
}

static void begin_word(struct cutter *c)
{
	if (c->in_word)
		return;
	c->in_word = true;
	c->word_pos = c->pos;
	c->text = NULL;
	c->cols = NULL;
	c->len = 0;
}

static void put_byte(struct cutter *c, char byte, size_t pos)
{
	struct arena *a = c->diag->arena;

	begin_word(c);
	c->text = arena_grow(a, c->text, c->len, sizeof(*c->text));
	c->cols = arena_grow(a, c->cols, c->len, sizeof(*c->cols));
	c->text[c->len] = byte;
	c->cols[c->len] = c->start.col + (unsigned)pos;
	c->len++;
}

static void end_word(struct cutter *c)
{
	struct words *out = c->out;
	struct word *w;
	size_t len = c->len;

	if (!c->in_word)
		return;
	put_byte(c, '\0', c->pos);
	out->list = arena_grow(c->diag->arena, out->list, out->count, sizeof(*out->list));
	w = &out->list[out->count++];
	w->text = c->text;
	w->len = len;
	w->cols = c->cols;
	w->at = cutter_at(c, c->word_pos, c->pos - c->word_pos);
	c->in_word = false;
}

size_t words_variable_len(const char *text)
{
	const char *end;

	if (text[0] != '$' || text[1] != '{')
		return 0;
	end = strchr(text, '}');
	return end != NULL ? (size_t)(end - text) + 1 : strlen(text);
}

size_t words_escape_len(const char *text)
{
	return text[0] == '\\' && (text[1] == '"' || text[1] == '\\') ? 2 : 0;
}

static const char *value_of(const struct diag *d, const char *name)
{
	const size_t len = strlen(name);

	if (d->environment == NULL)
		return getenv(name);
	for (char *const *entry = d->environment; *entry != NULL; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return *entry + len + 1;
	return NULL;
}

/* The value of the variable written as `inside` ("VAR:-default"); NULL after reporting. */
static const char *look_up(struct cutter *c, const char *inside, struct at at)
{
	size_t name_len = strcspn(inside, ":");
	const char *name = arena_strndup(c->diag->arena, inside, name_len);
	const char *rest = inside + name_len;
	const char *value;

	if (name_len == 0 || (*rest != '\0' && rest[1] != '-' && rest[1] != '?')) {
		diag_error(c->diag, DIAG_BAD_VARIABLE, at,
			   "a variable is ${NAME}, ${NAME:-default} or ${NAME:?message}");
		return NULL;
	}
	value = value_of(c->diag, name);
	if (value != NULL && (value[0] != '\0' || *rest == '\0'))
		return value;
	if (*rest != '\0' && rest[1] == '-')
		return rest + 2;
	if (*rest != '\0') {
		diag_error(c->diag, DIAG_BAD_VARIABLE, at, "%s is not set: %s", name, rest + 2);
		return NULL;
	}
	diag_error(c->diag, DIAG_BAD_VARIABLE, at, "%s is not set in the environment", name);
	diag_hint(c->diag, "set it, or write ${%s:-default}", name);
	return NULL;
}

static int put_variable(struct cutter *c, size_t len)
{
	const char *written = c->value + c->pos;
	struct at at = cutter_at(c, c->pos, len);
	const char *text;

	if (written[len - 1] != '}') {
		diag_error(c->diag, DIAG_BAD_VARIABLE, at, "'${' has no closing '}'");
		return -EINVAL;
	}
	text = look_up(c, arena_strndup(c->diag->arena, written + 2, len - 3), at);
	if (text == NULL)
		return -EINVAL;
	for (; *text != '\0'; text++) {
		bool blank = *text == ' ' || *text == '\t';

		if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f) {
			diag_error(c->diag, DIAG_BAD_VARIABLE, at, "this variable contains a control byte");
			return -EINVAL;
		}
		if (blank && c->quote == 0)
			end_word(c);
		else
			put_byte(c, *text, c->pos);
	}
	c->pos += len;
	return 0;
}

/* Handles the item at `pos`: a variable, a quote, a blank or a byte of a word. */
static int cut_next(struct cutter *c)
{
	char byte = c->value[c->pos];
	size_t variable_len = c->quote == '\'' ? 0 : words_variable_len(c->value + c->pos);

	if (variable_len > 0)
		return put_variable(c, variable_len);
	if (c->quote == '"' && words_escape_len(c->value + c->pos) > 0) {
		c->pos++;
		if (c->value[c->pos] == '\\')
			put_byte(c, '\\', c->pos - 1);
		put_byte(c, c->value[c->pos], c->pos);
	} else if (c->quote != 0 && byte == c->quote) {
		c->quote = 0;
	} else if (c->quote == 0 && (byte == '"' || byte == '\'')) {
		begin_word(c);
		c->quote = byte;
		c->quote_pos = c->pos;
	} else if (c->quote == 0 && (byte == ' ' || byte == '\t')) {
		end_word(c);
	} else {
		put_byte(c, byte, c->pos);
	}
	c->pos++;
	return 0;
}

int words_split(struct diag *d, struct at at, const char *value, struct words *out)
{
	struct cutter c = {.diag = d, .start = at, .value = value, .out = out};

	out->list = NULL;
	out->count = 0;
	while (value[c.pos] != '\0') {
		int err = cut_next(&c);

		if (err)
			return err;
	}
	if (c.quote != 0) {
		diag_error(d, DIAG_SYNTAX, cutter_at(&c, c.quote_pos, 1), "this quote is never closed");
		return -EINVAL;
	}
	end_word(&c);
	return 0;
}

struct at word_at(const struct word *w, size_t offset)
{
	struct at at = w->at;

	check(offset <= w->len);
	if (offset == 0)
		return at;
	at.col = w->cols[offset];
	at.len = w->at.col + w->at.len > at.col ? w->at.col + w->at.len - at.col : 1;
	return at;
}

struct word word_part(struct diag *d, const struct word *w, size_t offset, size_t len)
{
	struct word part = {.at = word_at(w, offset)};

	check(offset <= w->len);
	if (len > w->len - offset)
		len = w->len - offset;
	part.text = arena_strndup(d->arena, w->text + offset, len);
	part.len = len;
	part.cols = w->cols + offset;
	if (offset + len < w->len && part.cols[len] > part.at.col)
		part.at.len = part.cols[len] - part.at.col;
	return part;
}

struct word word_joined(struct arena *a, const struct word *left, const char *between,
			  const struct word *right)
{
	size_t more = strlen(between), right_len = right != NULL ? right->len : 0;
	struct word w = {.len = left->len + more + right_len, .at = left->at};
	unsigned *cols = arena_alloc(a, (w.len + 1) * sizeof(*cols));

	w.text = arena_printf(a, "%s%s%s", left->text, between, right != NULL ? right->text : "");
	for (size_t i = 0; i <= left->len; i++)
		cols[i] = left->cols[i];
	for (size_t i = left->len; i < w.len - right_len; i++)
		cols[i] = left->cols[left->len];
	for (size_t i = 0; right != NULL && i <= right_len; i++)
		cols[w.len - right_len + i] = right->cols[i];
	if (right == NULL)
		cols[w.len] = left->cols[left->len];
	else
		w.at.len = right->at.col + right->at.len - left->at.col;
	w.cols = cols;
	return w;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("-_./:@*[],%+=", c) != NULL;
}

void words_print_quoted(const char *text, FILE *out)
{
	size_t plain = 0;

	while (text[plain] != '\0' && is_plain(text[plain]))
		plain++;
	if (text[plain] == '\0' && plain > 0) {
		fputs(text, out);
		return;
	}
	fputc('\'', out);
	while (*text != '\0') {
		size_t quotes = strspn(text, "'"), others = strcspn(text, "'");

		/* Quotes inside are written as in a shell: close, quote them, reopen. */
		if (quotes > 0)
			fprintf(out, "'\"%.*s\"'", (int)quotes, text);
		else
			fprintf(out, "%.*s", (int)others, text);
		text += quotes > 0 ? quotes : others;
	}
	fputc('\'', out);
}
