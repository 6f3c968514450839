/* SPDX-License-Identifier: MIT
 *
 * typed_field.c - a value with what HAProxy's `typed` and `json` forms say about it.
 *
 * Owns nothing. Main thread.
 */
#include "typed_field.h"

#include "weir/base/check.h"

struct meaning {
	char letter;
	const char *word;
};

static const struct meaning origins[] = {
	{'M', "Metric"}, {'S', "Status"}, {'K', "Key"}, {'C', "Config"}, {'P', "Product"},
};

static const struct meaning natures[] = {
	{'G', "Gauge"},	   {'L', "Limit"}, {'M', "Max"},  {'R', "Rate"},   {'C', "Counter"},
	{'D', "Duration"}, {'A', "Age"},   {'N', "Name"}, {'O', "Output"}, {'a', "Avg"},
};

static const struct meaning scopes[] = {{'P', "Process"}, {'S', "Service"}};

static const char *meaning_of(const struct meaning *list, size_t count, char letter)
{
	size_t i = 0;

	while (i < count && list[i].letter != letter)
		i++;
	check(i < count); /* else a row of a table has a letter that HAProxy does not have */
	return list[i].word;
}

void typed_field_line(const struct typed_field *f, struct text *out)
{
	text_printf(out, "%u.%s.1:%s:%s:", f->pos, f->name, f->tags, f->type);
	if (f->text != NULL)
		text_printf(out, "%s\n", f->text);
	else
		text_printf(out, "%lld\n", (long long)f->number);
}

void typed_field_json(const struct typed_field *f, struct json *out)
{
	json_object(out, "field");
	json_unsigned(out, "pos", f->pos);
	json_string(out, "name", f->name);
	json_object_end(out);
	json_unsigned(out, "processNum", 1);
	json_object(out, "tags");
	json_string(out, "origin", meaning_of(origins, ARRAY_LEN(origins), f->tags[0]));
	json_string(out, "nature", meaning_of(natures, ARRAY_LEN(natures), f->tags[1]));
	json_string(out, "scope", meaning_of(scopes, ARRAY_LEN(scopes), f->tags[2]));
	json_object_end(out);
	json_object(out, "value");
	json_string(out, "type", f->type);
	if (f->text != NULL)
		json_string(out, "value", f->text);
	else
		json_signed(out, "value", f->number);
	json_object_end(out);
}
