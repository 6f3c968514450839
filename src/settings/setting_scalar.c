/* SPDX-License-Identifier: MIT
 *
 * setting_scalar.c - options whose value is one word: parsed into their field, and printed from it.
 *
 * Fields are written with memcpy(), because an enum, an int and an unsigned of the same size are stored
 * alike. Rejects values outside the row's range or list of words. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/config/suggest.h"
#include "weir/config/values.h"

int setting_bad(const struct setting *s, const struct word *w, size_t offset, const char *text)
{
	diag_error(s->diag, DIAG_BAD_VALUE, word_at(w, offset), "'%s' %s", s->option->key, text);
	return -EINVAL;
}

/* A bound in the notation of this option. */
static const char *bound_text(const struct option *o, int64_t bound, char *buf)
{
	if (o->type == OPT_DURATION || o->type == OPT_IDLE)
		return value_format_duration(bound, buf);
	if (o->type == OPT_MILLIS)
		return value_format_duration(bound * NS_PER_MS, buf);
	if (o->type == OPT_SECONDS || o->type == OPT_KEEPALIVE || o->type == OPT_KEEPALIVES)
		return value_format_duration(bound * NS_PER_SEC, buf);
	if (o->type == OPT_SIZE || o->type == OPT_BYTES || o->type == OPT_PACE)
		return value_format_size((uint64_t)bound, buf);
	(void)snprintf(buf, VALUE_TEXT_MAX, "%lld", (long long)bound); /* 20 digits at most */
	return buf;
}

int setting_in_range(const struct setting *s, const struct word *w, uint64_t number)
{
	const struct option *o = s->option;
	bool or_off = (o->flags & OPT_OR_OFF) != 0;
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];

	if ((number >= (uint64_t)o->min && number <= (uint64_t)o->max) || (number == 0 && or_off))
		return 0;
	diag_error(s->diag, DIAG_OUT_OF_RANGE, w->at, "'%s' is %s; allowed: %s%s to %s", o->key, w->text,
		   or_off ? "off, or " : "", bound_text(o, o->min, min), bound_text(o, o->max, max));
	return -EINVAL;
}

static int bare_number(const struct setting *s, const struct word *w)
{
	uint64_t n = 0;

	diag_error(s->diag, DIAG_NO_UNIT, w->at, "'%s' needs a unit", s->option->key);
	if (strspn(w->text, "0123456789") != w->len) {
		diag_hint(s->diag, "its last number has none: write %sm or %ss", w->text, w->text);
		return -EINVAL;
	}
	if (value_number(w->text, &n) == 0 && n % 1000 == 0)
		diag_hint(
			s->diag,
			"write %sms or %llus (HAProxy reads a bare number as milliseconds, nginx as seconds)",
			w->text, (unsigned long long)n / 1000);
	else
		diag_hint(s->diag,
			  "write %sms or %ss (HAProxy reads a bare number as milliseconds, nginx as seconds)",
			  w->text, w->text);
	return -EINVAL;
}

/* A duration in whole `unit_ns`, validated against the row's range, which is in that unit. */
static int take_duration(const struct setting *s, int64_t unit_ns, int64_t *out)
{
	const struct word *w = &s->words.list[0];
	int64_t ns = 0;
	int err = value_duration(w->text, &ns);

	if (err == -EDOM)
		return bare_number(s, w);
	if (err == -ERANGE)
		return setting_in_range(s, w, UINT64_MAX);
	if (err) {
		(void)setting_bad(s, w, 0, "needs a duration");
		diag_hint(s->diag, "write a number and us, ms, s, m, h or d: 500ms, 30s, 1m30s");
		return err;
	}
	if (ns % unit_ns != 0) {
		(void)setting_bad(s, w, 0,
				  unit_ns == NS_PER_SEC ? "takes whole seconds" : "takes whole milliseconds");
		return -EINVAL;
	}
	*out = ns / unit_ns;
	return setting_in_range(s, w, (uint64_t)(ns / unit_ns));
}

static int parse_duration(const struct setting *s, void *field)
{
	int64_t ns = 0;
	int err = take_duration(s, 1, &ns);

	memcpy(field, &ns, sizeof(ns));
	return err;
}

static void print_duration_ns(int64_t ns, FILE *out)
{
	char buf[VALUE_TEXT_MAX];

	fputs(ns == 0 ? "off" : value_format_duration(ns, buf), out);
}

static void print_duration(const void *field, const struct option *option, FILE *out)
{
	int64_t ns;

	(void)option; /* the same for every row */
	memcpy(&ns, field, sizeof(ns));
	print_duration_ns(ns, out);
}

static int parse_millis(const struct setting *s, void *field)
{
	int64_t ms = 0;
	int err = take_duration(s, NS_PER_MS, &ms);
	int value = (int)ms;

	if (!err)
		memcpy(field, &value, sizeof(value));
	return err;
}

static int parse_seconds(const struct setting *s, void *field)
{
	int64_t seconds = 0;
	int err = take_duration(s, NS_PER_SEC, &seconds);
	int value = (int)seconds;

	if (!err)
		memcpy(field, &value, sizeof(value));
	return err;
}

static void print_int_duration(const void *field, const struct option *option, FILE *out)
{
	int value;

	memcpy(&value, field, sizeof(value));
	print_duration_ns(value * (option->type == OPT_MILLIS ? NS_PER_MS : NS_PER_SEC), out);
}

static int parse_idle(const struct setting *s, void *field)
{
	struct config_timeouts *t = field;
	int64_t ns = 0;
	int err = take_duration(s, 1, &ns);

	if (err)
		return err;
	t->client_ns = ns;
	t->server_ns = ns;
	return 0;
}

bool setting_never_set(const void *field)
{
	(void)field; /* -T prints the converted value */
	return false;
}

int setting_size(const struct setting *s, uint64_t *bytes)
{
	const struct word *w = &s->words.list[0];
	int err = value_size(w->text, bytes);

	if (err == -ERANGE)
		return setting_in_range(s, w, UINT64_MAX); /* it exceeded 64 bits */
	if (err) {
		(void)setting_bad(s, w, 0, "is not a valid size");
		diag_hint(s->diag, "write a number of bytes, or with k, m or g: 256k");
		return err;
	}
	return setting_in_range(s, w, *bytes);
}

static int parse_size(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	uint64_t bytes = 0;
	uint32_t value;
	int err = setting_size(s, &bytes);

	if (err)
		return err;
	if ((bytes & (bytes - 1)) != 0) {
		char below[VALUE_TEXT_MAX], above[VALUE_TEXT_MAX];
		uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(bytes));

		(void)setting_bad(s, w, 0, "must be a power of two");
		diag_hint(s->diag, "write %s or %s", value_format_size(power, below),
			  value_format_size(2 * power, above));
		return -EINVAL;
	}
	value = (uint32_t)bytes;
	memcpy(field, &value, sizeof(value));
	return 0;
}

static void print_size(const void *field, const struct option *option, FILE *out)
{
	char buf[VALUE_TEXT_MAX];
	uint32_t value;

	(void)option; /* the same for every row */
	memcpy(&value, field, sizeof(value));
	fputs(value_format_size(value, buf), out);
}

/* The word that a count may have instead of a number; NULL = none. */
static const char *count_word(const struct option *o)
{
	if (o->type == OPT_COUNT_AUTO || o->type == OPT_INT_AUTO)
		return "auto";
	return o->type == OPT_COUNT_OFF || (o->flags & OPT_OR_OFF) != 0 ? "off" : NULL;
}

/* Counts of all five kinds: int and unsigned alike, ranges keep them below INT_MAX. */
static int parse_count(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	const char *word = count_word(s->option);
	char min[VALUE_TEXT_MAX], max[VALUE_TEXT_MAX];
	uint64_t n = 0;
	int value, err;

	if (word != NULL && strcmp(w->text, word) == 0) {
		value = s->option->type == OPT_INT_AUTO ? -1 : 0;
		memcpy(field, &value, sizeof(value));
		return 0;
	}
	err = value_count(w->text, &n);
	if (err == -EINVAL) {
		(void)setting_bad(s, w, 0, "needs a number");
		diag_hint(s->diag, "write %s%sa number from %s to %s, as in '%s'", word != NULL ? word : "",
			  word != NULL ? " or " : "", bound_text(s->option, s->option->min, min),
			  bound_text(s->option, s->option->max, max), s->option->example);
		return err;
	}
	err = setting_in_range(s, w, err ? UINT64_MAX : n);
	if (err)
		return err;
	value = (int)n;
	memcpy(field, &value, sizeof(value));
	return 0;
}

static void print_count(const void *field, const struct option *option, FILE *out)
{
	int value;

	memcpy(&value, field, sizeof(value));
	if ((option->type == OPT_COUNT_AUTO && value == 0) || (option->type == OPT_INT_AUTO && value < 0))
		fputs("auto", out);
	else if (option->type == OPT_COUNT_OFF && value == 0)
		fputs("off", out);
	else
		fprintf(out, "%d", value);
}

static bool count_is_set(const void *field)
{
	int value;

	memcpy(&value, field, sizeof(value));
	return value != 0;
}

static int parse_switch(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	bool bare = w->len == 0 && (s->option->flags & OPT_BARE) != 0;
	bool on = bare || strcmp(w->text, "on") == 0;

	if (!on && strcmp(w->text, "off") != 0) {
		(void)setting_bad(s, w, 0, "is on or off");
		return -EINVAL;
	}
	memcpy(field, &on, sizeof(on));
	return 0;
}

static void print_switch(const void *field, const struct option *option, FILE *out)
{
	bool on;

	(void)option; /* the same for every row */
	memcpy(&on, field, sizeof(on));
	fputs(on ? "on" : "off", out);
}

static int parse_flag(const struct setting *s, void *field)
{
	const bool on = true;

	/* setting_parse_words() has checked that only a flag that can be undone has a value. */
	if (s->words.list[0].len > 0)
		return parse_switch(s, field);
	memcpy(field, &on, sizeof(on));
	return 0;
}

static bool flag_is_set(const void *field)
{
	bool on;

	memcpy(&on, field, sizeof(on));
	return on;
}

/* Does `written` name the list item at `item`, of `item_len` bytes? "random(2)" matches "random". */
static bool is_choice(const char *item, size_t item_len, const char *written)
{
	size_t len = strcspn(written, "(");

	return len == item_len && memcmp(item, written, len) == 0;
}

int setting_choice(const struct setting *s, const struct word *w, unsigned *index)
{
	const char *item = s->option->words;
	char choices[OPTION_PLACES_MAX];
	struct suggest near;

	suggest_init(&near, w->text);
	for (unsigned i = 0; *item != '\0'; i++) {
		bool later = *item == '!';
		size_t len;

		item += later ? 1 : 0;
		len = strcspn(item, "|");
		if (is_choice(item, len, w->text) && (later || w->text[len] == '\0')) {
			*index = i;
			if (!later)
				return 0;
			diag_error(s->diag, DIAG_NOT_YET, w->at, "'%s = %s' is not in this version",
				   s->option->key, w->text);
			return -EINVAL;
		}
		if (!later)
			suggest_offer(&near, arena_strndup(s->diag->arena, item, len), NULL);
		item += len;
		item += *item == '|' ? 1 : 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' cannot be '%s'", s->option->key, w->text);
	if (near.best != NULL)
		diag_hint(s->diag, "did you mean '%s'?", near.best);
	else
		diag_hint(s->diag, "write one of %s", option_choices(s->option, false, choices));
	return -EINVAL;
}

static int parse_choice(const struct setting *s, void *field)
{
	bool bare = s->words.list[0].len == 0 && (s->option->flags & OPT_BARE) != 0;
	unsigned index = bare ? (unsigned)s->option->min : 0;
	int err = bare ? 0 : setting_choice(s, &s->words.list[0], &index);

	if (!err)
		memcpy(field, &index, sizeof(index));
	return err;
}

void setting_print_choice(const void *field, const struct option *option, FILE *out)
{
	const char *item = option->words;
	unsigned index;

	memcpy(&index, field, sizeof(index));
	for (; index > 0; index--) {
		item = strchr(item, '|');
		check(item != NULL);
		item++;
	}
	item += *item == '!' ? 1 : 0;
	fprintf(out, "%.*s", (int)strcspn(item, "|"), item);
}

int setting_parse_text(const struct setting *s, void *field)
{
	const char *text = s->words.list[0].text;
	size_t max = s->option->max > 0 ? (size_t)s->option->max : SETTING_TEXT_MAX;

	if (text[0] == '\0')
		return setting_bad(s, &s->words.list[0], 0, "is empty");
	if (strlen(text) > max) {
		diag_error(s->diag, DIAG_TOO_LONG, s->words.list[0].at, "'%s' has at most %zu bytes",
			   s->option->key, max);
		return -EINVAL;
	}
	memcpy(field, &text, sizeof(text));
	return 0;
}

void setting_print_text(const void *field, const struct option *option, FILE *out)
{
	const char *text;

	(void)option; /* the same for every row */
	memcpy(&text, field, sizeof(text));
	words_print_quoted(text, out);
}

bool setting_text_is_set(const void *field)
{
	const char *text;

	memcpy(&text, field, sizeof(text));
	return text != NULL;
}

static int parse_level(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	enum log_level level;
	int value;

	if (!log_level_of_word(w->text, &level)) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not a log level", w->text);
		diag_hint(s->diag, "write one of %s", s->option->words);
		return -EINVAL;
	}
	value = (int)level;
	memcpy(field, &value, sizeof(value));
	return 0;
}

static void print_level(const void *field, const struct option *option, FILE *out)
{
	int level;

	(void)option; /* the same for every row */
	memcpy(&level, field, sizeof(level));
	fputs(log_level_word((enum log_level)level), out);
}

const struct setting_type setting_scalar_types[OPT_TYPES] = {
	[OPT_DURATION] = {parse_duration, print_duration, NULL},
	[OPT_MILLIS] = {parse_millis, print_int_duration, NULL},
	[OPT_SECONDS] = {parse_seconds, print_int_duration, NULL},
	[OPT_IDLE] = {parse_idle, NULL, setting_never_set},
	[OPT_SIZE] = {parse_size, print_size, NULL},
	[OPT_COUNT] = {parse_count, print_count, NULL},
	[OPT_INT] = {parse_count, print_count, count_is_set},
	[OPT_COUNT_AUTO] = {parse_count, print_count, NULL},
	[OPT_INT_AUTO] = {parse_count, print_count, NULL},
	[OPT_SWITCH] = {parse_switch, print_switch, NULL},
	[OPT_FLAG] = {parse_flag, NULL, flag_is_set},
	[OPT_CHOICE] = {parse_choice, setting_print_choice, NULL},
	[OPT_TEXT] = {setting_parse_text, setting_print_text, setting_text_is_set},
	[OPT_LEVEL] = {parse_level, print_level, NULL},
	[OPT_COUNT_OFF] = {parse_count, print_count, NULL},
};
