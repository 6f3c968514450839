/* SPDX-License-Identifier: MIT
 *
 * diag_json.c - the messages as one JSON object (--format=json), for editors and pipelines.
 *
 * Shows every message; bytes that are no UTF-8 become U+FFFD, so that the object always parses.
 * Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/diag.h"

/* How many bytes the UTF-8 sequence at `text` has; 0 = it is none (also overlong and surrogates). */
static size_t sequence_len(const unsigned char *text, size_t len)
{
	static const struct {
		unsigned char first, last, low, high; /* of the lead byte; of the second one */
		size_t len;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (len < forms[i].len || text[1] < forms[i].low || text[1] > forms[i].high)
			return 0;
		for (size_t n = 2; n < forms[i].len; n++) {
			if ((text[n] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].len;
	}
	return 0;
}

/* "null" for NULL. The stream is diagnostics: what cannot be written is nobody's to know. */
static void put_string(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = text != NULL ? strlen(text) : 0;

	if (text == NULL) {
		fputs("null", out);
		return;
	}
	fputc('"', out);
	while (len > 0) {
		size_t take = *p < 0x80 ? 1 : sequence_len(p, len);

		if (take == 0)
			fputs("\\ufffd", out);
		else if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\u%04x", *p);
		else
			fprintf(out, "%.*s", (int)take, (const char *)p);
		p += take > 0 ? take : 1;
		len -= take > 0 ? take : 1;
	}
	fputc('"', out);
}

static void put_item(FILE *out, const struct diag_item *item)
{
	fputs("{\"file\":", out);
	put_string(out, item->at.source->name);
	fprintf(out, ",\"line\":%u,\"col\":%u,\"len\":%u,\"severity\":\"%s\",\"code\":\"%s\",\"message\":",
		item->at.line, item->at.col, item->at.len, item->level == DIAG_ERROR ? "error" : "warning",
		diag_code_word(item->code));
	put_string(out, item->text);
	fputs(",\"hint\":", out);
	put_string(out, item->hint);
	fputc('}', out);
}

void diag_print_json(struct diag *d, const char *file, const struct diag_counts *counts, FILE *out)
{
	diag_sort(d);
	fputs("{\"file\":", out);
	put_string(out, file);
	fprintf(out, ",\"ok\":%s,\"errors\":%u,\"warnings\":%u", d->errors == 0 ? "true" : "false", d->errors,
		d->warnings);
	if (counts != NULL)
		fprintf(out, ",\"frontends\":%zu,\"backends\":%zu,\"servers\":%zu,\"includes\":%u",
			counts->frontends, counts->backends, counts->servers, counts->includes);
	fputs(",\"messages\":[", out);
	for (size_t i = 0; i < d->count; i++) {
		fputs(i > 0 ? ",\n " : "\n ", out);
		put_item(out, &d->items[i]);
	}
	fputs(d->count > 0 ? "\n]}\n" : "]}\n", out);
}
