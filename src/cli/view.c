/* SPDX-License-Identifier: MIT
 *
 * view.c - a running weir as `status` and `top` show it: fetched through the admin socket.
 *
 * Reads the lines of `show info` and the CSV of `show stat` by the names of their columns, so that it also
 * understands a daemon with more of them. Main thread.
 */
#include "view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/admin/stat_words.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/info_line.h"
#include "view_text.h"

#define COLUMNS_MAX 256

void view_init(struct view *v)
{
	memset(v, 0, sizeof(*v));
}

void view_free(struct view *v)
{
	free(v->frontends);
	free(v->backends);
	free(v->servers);
	view_init(v);
}

static void copy_word(char out[static VIEW_WORD_MAX], const char *text)
{
	(void)snprintf(out, VIEW_WORD_MAX, "%s", text); /* may be truncated */
}

/* ---- show info ---- */

static void read_info_line(struct view *v, const struct info_line *line)
{
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{"pid", &v->pid},
		{"uptime_s", &v->uptime_s},
		{"workers", &v->workers},
		{"sessions", &v->sessions},
		{"maxconn", &v->maxconn},
		{"accepted", &v->accepted},
		{"bytes_to_server", &v->bytes_to_server},
		{"bytes_to_client", &v->bytes_to_client},
		{"bytes_spliced", &v->bytes_spliced},
	};
	char value[VIEW_WORD_MAX];

	info_line_copy(line, value, sizeof(value)); /* may be truncated */
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (info_line_is(line, numbers[i].name))
			*numbers[i].number = view_number(value);
	if (info_line_is(line, "version"))
		copy_word(v->version, value);
	else if (info_line_is(line, "state"))
		copy_word(v->state, value);
	else if (info_line_is(line, "driver"))
		copy_word(v->driver, value);
	else if (info_line_is(line, "config"))
		info_line_copy(line, v->config, sizeof(v->config)); /* may be truncated */
}

/* "listen.FRONTEND.BIND: ADDRESS". Names may contain dots: of "web" and "web.tls" the longer match counts. */
static void read_listener(struct view *v, const struct info_line *line)
{
	static const char prefix[] = "listen.";
	const size_t before = sizeof(prefix) - 1;
	struct view_row *f = NULL;
	size_t longest = 0, used;

	if (line->name_len < before || memcmp(line->name, prefix, before) != 0)
		return;
	for (size_t i = 0; i < v->frontend_count; i++) {
		const char *name = line->name + before; /* never past the colon */
		const size_t len = strnlen(v->frontends[i].proxy, sizeof(v->frontends[i].proxy));

		if (len <= longest || strncmp(name, v->frontends[i].proxy, len) != 0 || name[len] != '.')
			continue;
		longest = len;
		f = &v->frontends[i];
	}
	if (f == NULL)
		return;
	used = strnlen(f->address, sizeof(f->address));
	if (used + line->value_len + 2 > sizeof(f->address))
		return;
	(void)snprintf(f->address + used, sizeof(f->address) - used, "%s%.*s", used > 0 ? " " : "",
		       (int)line->value_len, line->value); /* length checked above */
}

/* ---- show stat ---- */

struct csv {
	const char *names[COLUMNS_MAX]; /* borrows from the first line */
	size_t name_count;
	const char *cells[COLUMNS_MAX]; /* borrows from the current line */
	size_t cell_count;
};

/* The next cell of a line, unquoted in place. NULL at the end. */
static char *next_cell(char **line)
{
	char *cell = *line;
	char *from = cell;
	char *to = cell;

	if (cell == NULL)
		return NULL;
	if (*cell != '"')
		return strsep(line, ",");
	for (from++; *from != '\0'; from++) {
		if (*from == '"' && from[1] != '"')
			break;
		if (*from == '"')
			from++;
		*to++ = *from;
	}
	*line = *from == '"' && from[1] == ',' ? from + 2 : NULL;
	*to = '\0';
	return cell;
}

static size_t cut_line(char *line, const char *cells[static COLUMNS_MAX])
{
	size_t count = 0;

	while (count < COLUMNS_MAX && (cells[count] = next_cell(&line)) != NULL)
		count++;
	return count;
}

static const char *cell(const struct csv *csv, const char *name)
{
	for (size_t i = 0; i < csv->name_count && i < csv->cell_count; i++)
		if (strcmp(csv->names[i], name) == 0)
			return csv->cells[i];
	return "";
}

/* Translates HAProxy's words for a state to ours. */
static void read_state(struct view_row *row, const char *word)
{
	if (strcmp(word, STAT_STATUS_NO_CHECK) == 0)
		word = server_state_word(SERVER_UP);
	copy_word(row->state, word);
	for (char *c = row->state; *c != '\0'; c++) {
		if (*c == ' ')
			*c = '\0';
		else if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 0x20);
		if (*c == '\0')
			break;
	}
}

/* "L4CON: connection refused" */
static void read_check(struct view_row *row, const char *code, const char *text)
{
	(void)snprintf(row->check, sizeof(row->check), "%s%s%s", code, text[0] != '\0' ? ": " : "",
		       text); /* may be truncated */
}

static void read_row(const struct csv *csv, struct view_row *row)
{
	(void)snprintf(row->proxy, sizeof(row->proxy), "%s", cell(csv, "pxname")); /* as long as ours */
	(void)snprintf(row->name, sizeof(row->name), "%s", cell(csv, "svname"));
	(void)snprintf(row->address, sizeof(row->address), "%s", cell(csv, "addr"));
	read_state(row, cell(csv, "status"));
	row->sessions = view_number(cell(csv, "scur"));
	row->sessions_max = view_number(cell(csv, "smax"));
	row->limit = view_number(cell(csv, "slim"));
	row->total = view_number(cell(csv, "stot"));
	row->failures = view_number(cell(csv, "econ"));
	row->queue = view_number(cell(csv, "qcur"));
	row->weight = view_number(cell(csv, "weight"));
	row->denied = view_number(cell(csv, "dcon"));
	row->since_s = view_number(cell(csv, "lastchg"));
	read_check(row, cell(csv, "check_status"), cell(csv, "last_chk"));
	row->bytes_in = view_number(cell(csv, "bin"));
	row->bytes_out = view_number(cell(csv, "bout"));
}

/* A new row at the end of a list; NULL if out of memory. */
static struct view_row *add_row(struct view_row **rows, size_t *count)
{
	struct view_row *more = realloc(*rows, (*count + 1) * sizeof(*more));

	if (more == NULL)
		return NULL;
	*rows = more;
	memset(&more[*count], 0, sizeof(*more));
	return &more[(*count)++];
}

static bool read_stat(struct view *v, char *lines)
{
	struct csv csv;
	char *next = lines;
	char *line = strsep(&next, "\n");

	csv.name_count = cut_line(line, csv.names);
	while ((line = strsep(&next, "\n")) != NULL) {
		struct view_row *row = NULL;

		csv.cell_count = cut_line(line, csv.cells);
		if (csv.cell_count < 2)
			continue;
		v->queued += view_number(cell(&csv, "qcur")); /* a backend's row counts only its own queue */
		if (strcmp(cell(&csv, "svname"), STAT_SVNAME_FRONTEND) == 0)
			row = add_row(&v->frontends, &v->frontend_count);
		else if (strcmp(cell(&csv, "svname"), STAT_SVNAME_BACKEND) == 0)
			row = add_row(&v->backends, &v->backend_count);
		else
			row = add_row(&v->servers, &v->server_count);
		if (row == NULL)
			return false;
		read_row(&csv, row);
	}
	return true;
}

bool view_read(struct view *v, char *answer)
{
	static const char header[] = "\n# ";
	char *stat = strstr(answer, header);
	const char *at = answer;
	struct info_line line;

	if (stat == NULL)
		return false;
	*stat = '\0';
	if (!read_stat(v, stat + strlen(header)))
		return false;
	while (info_line_next(&at, &line)) {
		read_info_line(v, &line);
		read_listener(v, &line); /* the frontends are known by now */
	}
	return v->pid != 0 && v->state[0] != '\0';
}

enum exit_code view_take(struct view *v, const struct addr_spec *spec, int wait_ms)
{
	struct text answer;
	enum exit_code code;

	view_free(v);
	text_init(&answer);
	code = ask(spec, VIEW_QUESTION, wait_ms, &answer);
	v->taken_ns = clock_mono_ns();
	if (code == EXIT_FINE && !view_read(v, answer.bytes)) {
		fputs("weir: the answer is not that of a weir that this version understands\n", stderr);
		code = EXIT_ENVIRONMENT;
	}
	text_free(&answer);
	return code;
}

/* Rows rarely come and go, and keep their order: the search goes on behind the last one found. */
void view_match(const struct view_row *rows, size_t count, const struct view_row *before, size_t before_count,
		const struct view_row **found)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		found[i] = NULL;
		for (size_t n = 0; n < before_count && found[i] == NULL; n++) {
			const struct view_row *row = &before[(at + n) % before_count];

			if (strcmp(row->name, rows[i].name) == 0 && strcmp(row->proxy, rows[i].proxy) == 0)
				found[i] = row;
		}
		if (found[i] != NULL)
			at = (size_t)(found[i] - before) + 1;
	}
}
