/* SPDX-License-Identifier: MIT
 *
 * diag_json.c - the messages as one JSON object (--format=json), for editors and pipelines.
 *
 * Prints every message; bytes that are not UTF-8 become U+FFFD, so that the object always parses. Main
 * thread.
 */
#include "weir/base/json.h"
#include "weir/config/diag.h"

static void add_item(struct json *j, const struct diag_item *item)
{
	json_object(j, NULL);
	json_string(j, "file", item->at.source->name);
	json_unsigned(j, "line", item->at.line);
	json_unsigned(j, "col", item->at.col);
	json_unsigned(j, "len", item->at.len);
	json_string(j, "severity", diag_level_word(item->level));
	json_string(j, "code", diag_code_word(item->code));
	json_string(j, "message", item->text);
	json_string(j, "hint", item->hint);
	json_object_end(j);
}

void diag_print_json(struct diag *d, const char *file, const struct diag_counts *counts, FILE *out)
{
	struct text text;
	struct json j;

	diag_sort(d);
	text_init(&text);
	json_init(&j, &text, JSON_UTF8);
	json_object(&j, NULL);
	json_string(&j, "file", file);
	json_bool(&j, "ok", d->errors == 0);
	json_unsigned(&j, "errors", d->errors);
	json_unsigned(&j, "warnings", d->warnings);
	if (counts != NULL) {
		json_unsigned(&j, "frontends", counts->frontends);
		json_unsigned(&j, "backends", counts->backends);
		json_unsigned(&j, "servers", counts->servers);
		json_unsigned(&j, "includes", counts->includes);
		if (counts->costs != NULL)
			counts->costs(&j, counts->arg);
	}
	json_array(&j, "messages");
	for (size_t i = 0; i < d->count; i++) {
		json_line(&j, 1);
		add_item(&j, &d->items[i]);
	}
	json_line(&j, 0);
	json_array_end(&j);
	json_object_end(&j);
	text_add(&text, "\n", 1);
	text_print(&text, out);
	text_free(&text);
}
