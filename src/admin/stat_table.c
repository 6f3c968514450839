/* SPDX-License-Identifier: MIT
 *
 * stat_table.c - the table of `show stat`, row by row, in each of its forms.
 *
 * Owns the order of the columns. Main thread.
 */
#include "stat_table.h"

#include <string.h>

#include "weir/base/check.h"
#include "typed_field.h"

static const struct {
	const char *name;
	const char *tags;
	const char *type;
} columns[] = {
#define COLUMN(name, tags, type) {#name, tags, type},
#include "stat_columns.tbl.h"
#undef COLUMN
};

void stat_put_number(struct stat_table *t, enum stat_column column, uint64_t number)
{
	check(column < STAT_COLUMNS);
	t->row[column] = (struct stat_cell){.number = number, .set = true};
}

void stat_put_text(struct stat_table *t, enum stat_column column, const char *text)
{
	check(column < STAT_COLUMNS);
	t->row[column] = (struct stat_cell){.text = text, .set = true};
}

unsigned stat_row_type(const struct stat_table *t)
{
	return 1u << t->row[STAT_type].number;
}

/* ---- HAProxy's CSV ---- */

static void add_csv_text(const char *text, struct text *out)
{
	if (strpbrk(text, ",\"") == NULL) {
		text_printf(out, "%s", text);
		return;
	}
	text_add(out, "\"", 1);
	for (; *text != '\0'; text++)
		text_printf(out, *text == '"' ? "\"%c" : "%c", *text);
	text_add(out, "\"", 1);
}

static void write_csv(const struct stat_table *t)
{
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		const struct stat_cell *c = &t->row[i];

		if (c->set && c->text != NULL)
			add_csv_text(c->text, t->out);
		else if (c->set)
			text_printf(t->out, "%lld", (long long)c->number);
		text_add(t->out, ",", 1);
	}
	text_printf(t->out, "-,\n"); /* end of HAProxy's fixed part */
}

static void write_csv_header(const struct stat_table *t)
{
	for (size_t i = 0; i < STAT_COLUMNS; i++)
		text_printf(t->out, "%s%s,", i == 0 ? "# " : "", columns[i].name);
	text_printf(t->out, "-,\n");
}

/* ---- HAProxy's fields ---- */

/* False if the row does not have the column. */
static bool field_at(const struct stat_table *t, size_t column, struct typed_field *f)
{
	const struct stat_cell *c = &t->row[column];
	const bool of_backend = t->row[STAT_type].number == TYPE_BACKEND;

	*f = (struct typed_field){
		.pos = (unsigned)column,
		.name = columns[column].name,
		.tags = columns[column].tags,
		.type = columns[column].type,
		.text = c->text,
		.number = (int64_t)c->number,
	};
	/* Four are something else there. */
	if (of_backend && (column == STAT_act || column == STAT_bck || column == STAT_rate ||
			   column == STAT_rate_max))
		f->tags = "MGP";
	return c->set;
}

static void write_typed(const struct stat_table *t)
{
	static const char letters[] = {[TYPE_FRONTEND] = 'F', [TYPE_BACKEND] = 'B', [TYPE_SERVER] = 'S'};
	struct typed_field f;

	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		if (!field_at(t, i, &f))
			continue;
		text_printf(t->out, "%c.%llu.%llu.", letters[t->row[STAT_type].number],
			    (unsigned long long)t->row[STAT_iid].number,
			    (unsigned long long)t->row[STAT_sid].number);
		typed_field_line(&f, t->out);
	}
}

static void write_fields(struct stat_table *t)
{
	static const char *const words[] = {
		[TYPE_FRONTEND] = "Frontend", [TYPE_BACKEND] = "Backend", [TYPE_SERVER] = "Server"};
	struct typed_field f;

	json_array(&t->json, NULL);
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		if (!field_at(t, i, &f))
			continue;
		json_object(&t->json, NULL);
		json_string(&t->json, "objType", words[t->row[STAT_type].number]);
		json_unsigned(&t->json, "proxyId", t->row[STAT_iid].number);
		json_unsigned(&t->json, "id", t->row[STAT_sid].number);
		typed_field_json(&f, &t->json);
		json_object_end(&t->json);
	}
	json_array_end(&t->json);
}

/* ---- our JSON ---- */

static void write_object(struct stat_table *t)
{
	json_line(&t->json, 2);
	json_object(&t->json, NULL);
	for (size_t i = 0; i < STAT_COLUMNS; i++) {
		const struct stat_cell *c = &t->row[i];

		if (c->set && c->text != NULL)
			json_string(&t->json, columns[i].name, c->text);
		else if (c->set)
			json_signed(&t->json, columns[i].name, (int64_t)c->number);
	}
	json_object_end(&t->json);
}

/* ---- any form ---- */

void stat_table_begin(struct stat_table *t, const struct admin_question *q, struct text *out)
{
	t->q = q;
	t->out = out;
	json_init(&t->json, out, JSON_CODES);
	if (q->json)
		json_array(&t->json, NULL);
	else if (!q->typed)
		write_csv_header(t);
}

void stat_table_end(struct stat_table *t)
{
	if (!t->q->json)
		return;
	if (t->q->ours)
		json_line(&t->json, 0);
	json_array_end(&t->json);
	text_add(t->out, "\n", 1);
}

void stat_row_begin(struct stat_table *t, const char *proxy, const char *name, enum stat_type type)
{
	memset(t->row, 0, sizeof(t->row));
	stat_put_text(t, STAT_pxname, proxy);
	stat_put_text(t, STAT_svname, name);
	stat_put_number(t, STAT_type, type);
	stat_put_number(t, STAT_pid, 1);
	stat_put_text(t, STAT_mode, "tcp");
}

static bool is_wanted(const struct stat_table *t)
{
	const struct admin_question *q = t->q;

	if (q->iid >= 0 && (uint64_t)q->iid != t->row[STAT_iid].number)
		return false;
	if (q->types >= 0 && ((unsigned)q->types & stat_row_type(t)) == 0)
		return false;
	return q->sid < 0 || (uint64_t)q->sid == t->row[STAT_sid].number;
}

void stat_row_end(struct stat_table *t, size_t iid, size_t sid)
{
	stat_put_number(t, STAT_iid, iid);
	stat_put_number(t, STAT_sid, sid);
	if (!is_wanted(t))
		return;
	if (t->q->json && t->q->ours)
		write_object(t);
	else if (t->q->json)
		write_fields(t);
	else if (t->q->typed)
		write_typed(t);
	else
		write_csv(t);
}
