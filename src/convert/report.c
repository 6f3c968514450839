/* SPDX-License-Identifier: MIT
 *
 * report.c - prints what became of each line.
 *
 * Main thread.
 */
#include "weir/base/json.h"
#include "weir/convert/convert.h"

static const char *const words[OLD_FATES] = {
	[OLD_OPEN] = "lost",	 [OLD_CARRIED] = "carried",	[OLD_NO_EFFECT] = "no effect here",
	[OLD_NOT_OURS] = "not ours", [OLD_DIFFERENT] = "different", [OLD_LOST] = "lost",
};

static const char *const keys[OLD_FATES] = {
	[OLD_OPEN] = "lost",	 [OLD_CARRIED] = "carried",	[OLD_NO_EFFECT] = "no-effect",
	[OLD_NOT_OURS] = "not-ours", [OLD_DIFFERENT] = "different", [OLD_LOST] = "lost",
};

/* Bytes that would disturb a terminal are written as '?', and a tab as a blank. U+0080 to U+009F disturb as
 * well: they have control characters of eight bits. */
static void print_clean(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		const bool disturbs = (unsigned char)*text < ' ' || *text == 0x7f ||
				      (*text == '\xc2' && (unsigned char)text[1] - 0x80u < 0x20);

		fputc(*text == '\t' ? ' ' : disturbs ? '?' : *text, out);
		text += disturbs && *text == '\xc2';
	}
}

static void print_line(const struct old_line *line, FILE *out)
{
	print_clean(out, line->file);
	fprintf(out, ":%u: %s: ", line->line, words[line->fate]);
	print_clean(out, line->shown);
	if (line->why != NULL) {
		fputs("\n    ", out);
		print_clean(out, line->why);
	}
	fputc('\n', out);
}

static void print_sums(const struct convert_result *r, FILE *out)
{
	static const enum old_fate order[] = {OLD_CARRIED, OLD_NO_EFFECT, OLD_DIFFERENT, OLD_LOST,
					      OLD_NOT_OURS};

	fprintf(out, "%zu lines", r->reading.every.count);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		fprintf(out, "%s %zu %s", i > 0 ? "," : ":", r->counts[order[i]], words[order[i]]);
	fputc('\n', out);
}

void convert_report(const struct convert_result *r, FILE *out, bool brief)
{
	const struct old_error *e = &r->reading.error;

	if (e->text != NULL) {
		print_clean(out, e->file);
		if (e->line > 0)
			fprintf(out, ":%u", e->line);
		fputs(": error: ", out);
		print_clean(out, e->text);
		fputc('\n', out);
		return;
	}
	for (size_t i = 0; i < r->reading.every.count; i++) {
		const struct old_line *line = r->reading.every.list[i];

		if (!brief || line->fate >= OLD_DIFFERENT)
			print_line(line, out);
	}
	for (size_t i = 0; i < r->note_count; i++) {
		fputs("note: ", out);
		print_clean(out, r->notes[i]);
		fputc('\n', out);
	}
	print_sums(r, out);
	if (r->ini == NULL)
		fputs("no result: nothing in it forwards TCP\n", out);
}

static void add_line(struct json *j, const struct old_line *line)
{
	json_line(j, 4);
	json_object(j, NULL);
	json_string(j, "file", line->file);
	json_unsigned(j, "line", line->line);
	json_string(j, "state", keys[line->fate]);
	json_string(j, "text", line->shown);
	json_string(j, "why", line->why);
	json_object_end(j);
}

static void add_error(struct json *j, const struct old_error *e)
{
	if (e->text == NULL) {
		json_string(j, "error", NULL);
		return;
	}
	json_object(j, "error");
	json_string(j, "file", e->file);
	json_unsigned(j, "line", e->line);
	json_string(j, "text", e->text);
	json_object_end(j);
}

static void add_all(struct json *j, const struct convert_result *r)
{
	json_object(j, NULL);
	json_line(j, 2);
	json_bool(j, "result", r->ini != NULL);
	json_line(j, 2);
	add_error(j, &r->reading.error);
	json_line(j, 2);
	json_object(j, "counts");
	for (unsigned f = OLD_CARRIED; f < OLD_FATES; f++)
		json_unsigned(j, keys[f], r->counts[f]);
	json_object_end(j);
	json_line(j, 2);
	json_array(j, "lines");
	for (size_t i = 0; i < r->reading.every.count; i++)
		add_line(j, r->reading.every.list[i]);
	json_line(j, 2);
	json_array_end(j);
	json_line(j, 2);
	json_array(j, "notes");
	for (size_t i = 0; i < r->note_count; i++) {
		json_line(j, 4);
		json_string(j, NULL, r->notes[i]);
	}
	json_line(j, 2);
	json_array_end(j);
	json_line(j, 0);
	json_object_end(j);
}

void convert_report_json(const struct convert_result *r, FILE *out)
{
	struct text text;
	struct json j;

	text_init(&text);
	json_init(&j, &text, JSON_UTF8);
	j.spaced = true;
	add_all(&j, r);
	text_printf(&text, "\n");
	text_print(&text, out);
	text_free(&text);
}
