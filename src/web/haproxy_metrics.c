/* SPDX-License-Identifier: MIT
 *
 * haproxy_metrics.c - metrics with the names and labels of HAProxy's exporter, for dashboards that exist.
 *
 * Made of HAProxy's table and of `show info`, as those who admin the process see them. Of a state, HAProxy
 * writes one sample per value that it can have; of the result of a health check, only the one that it has is
 * written here. Main thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/info_line.h"
#include "answer.h"
#include "csv.h"
#include "metrics.h"

enum { SHOWN_F = 1, SHOWN_B = 2, SHOWN_S = 4, SHOWN_FB = 3, SHOWN_BS = 6, SHOWN_FBS = 7 };

static const struct {
	const char *column;
	unsigned shown;
	enum metric_type type;
	unsigned decimals;
	const char *name;
	const char *help;
} stats[] = {
#define STAT(column, shown, type, decimals, name, help)                                                      \
	{#column, SHOWN_##shown, METRIC_##type, decimals, name, help},
#include "haproxy_names.tbl.h"
#undef STAT
};

static const struct {
	const char *key;
	enum metric_type type;
	const char *name;
	const char *help;
} infos[] = {
#define INFO(key, type, name, help) {key, METRIC_##type, name, help},
#include "haproxy_info.tbl.h"
#undef INFO
};

static const struct kind {
	enum wish_scope scope;
	unsigned bit;     /* of `shown` */
	const char *type; /* in the column of that name */
	const char *prefix;
	const char *states[6];
} kinds[] = {
	{SCOPE_FRONTEND, SHOWN_F, "0", "haproxy_frontend_", {"DOWN", "UP"}},
	{SCOPE_BACKEND, SHOWN_B, "1", "haproxy_backend_", {"DOWN", "UP"}},
	{SCOPE_SERVER, SHOWN_S, "2", "haproxy_server_", {"DOWN", "UP", "MAINT", "DRAIN", "NOLB"}},
};

struct exporter {
	const struct wish *wish;
	const struct csv *csv;
	struct metrics m;
	size_t proxy, server, type, status; /* columns */
};

static bool is_wanted(const struct exporter *x, const struct kind *k, size_t row)
{
	if (strcmp(csv_field(x->csv, row, x->type), k->type) != 0)
		return false;
	return k->bit != SHOWN_S || !x->wish->no_maint ||
	       strncmp(csv_field(x->csv, row, x->status), "MAINT", 5) != 0;
}

static void begin_sample(struct exporter *x, const struct kind *k, size_t row)
{
	metrics_sample(&x->m);
	metrics_label(&x->m, "proxy", csv_field(x->csv, row, x->proxy));
	if (k->bit == SHOWN_S)
		metrics_label(&x->m, "server", csv_field(x->csv, row, x->server));
}

static void put_columns(struct exporter *x, const struct kind *k)
{
	for (size_t i = 0; i < ARRAY_LEN(stats); i++) {
		const size_t column = csv_column(x->csv, stats[i].column);

		if ((stats[i].shown & k->bit) == 0)
			continue;
		metrics_family(&x->m, k->prefix, stats[i].name, stats[i].type, stats[i].help);
		for (size_t row = 0; row < x->csv->rows; row++) {
			const char *value = csv_field(x->csv, row, column);

			if (*value == '\0' || !is_wanted(x, k, row))
				continue;
			begin_sample(x, k, row);
			metrics_value_scaled(&x->m, strtoll(value, NULL, 10), stats[i].decimals);
		}
	}
}

/* HAProxy's exporter knows fewer states than its table. */
static const char *state_of(const char *status)
{
	if (strncmp(status, "MAINT", 5) == 0)
		return "MAINT";
	if (strncmp(status, "DRAIN", 5) == 0)
		return "DRAIN";
	if (strncmp(status, "NOLB", 4) == 0)
		return "NOLB";
	if (strncmp(status, "DOWN", 4) == 0 || strcmp(status, "STOP") == 0 || strcmp(status, "PAUSED") == 0)
		return "DOWN";
	return "UP"; /* "OPEN", "FULL", "no check", "UP 1/3" */
}

static void put_states(struct exporter *x, const struct kind *k)
{
	metrics_family(&x->m, k->prefix, "status", METRIC_GAUGE,
		       "Current status: 1 for the state that it has.");
	for (size_t row = 0; row < x->csv->rows; row++) {
		const char *state = state_of(csv_field(x->csv, row, x->status));

		if (!is_wanted(x, k, row))
			continue;
		for (size_t i = 0; i < ARRAY_LEN(k->states) && k->states[i] != NULL; i++) {
			begin_sample(x, k, row);
			metrics_label(&x->m, "state", k->states[i]);
			metrics_value(&x->m, strcmp(state, k->states[i]) == 0);
		}
	}
}

static void put_checks(struct exporter *x, const struct kind *k)
{
	const size_t column = csv_column(x->csv, "check_status");

	metrics_family(&x->m, k->prefix, "check_status", METRIC_GAUGE, "Result of the last health check.");
	for (size_t row = 0; row < x->csv->rows; row++) {
		const char *word = csv_field(x->csv, row, column);

		if (*word == '\0' || !is_wanted(x, k, row))
			continue;
		begin_sample(x, k, row);
		metrics_label(&x->m, "state", strncmp(word, "* ", 2) == 0 ? word + 2 : word);
		metrics_value(&x->m, 1);
	}
}

static void put_info(struct exporter *x, const char *lines)
{
	struct info_line line;
	char value[128];

	for (size_t i = 0; i < ARRAY_LEN(infos); i++) {
		if (!info_line_find(lines, infos[i].key, &line))
			continue;
		info_line_copy(&line, value, sizeof(value));
		metrics_family(&x->m, "haproxy_process_", infos[i].name, infos[i].type, infos[i].help);
		metrics_sample(&x->m);
		metrics_value_scaled(&x->m, strtoll(value, NULL, 10), 0);
	}
	if (!info_line_find(lines, "Version", &line))
		return;
	info_line_copy(&line, value, sizeof(value));
	metrics_family(&x->m, "haproxy_process_", "build_info", METRIC_INFO, "Build info.");
	metrics_sample(&x->m);
	metrics_label(&x->m, "version", value);
	metrics_value(&x->m, 1);
}

static void put_process(struct exporter *x, const struct web_sources *from)
{
	struct text lines;

	text_init(&lines);
	from->info(from->arg, &lines);
	if (lines.failed)
		x->m.out->failed = true;
	else if (lines.bytes != NULL)
		put_info(x, lines.bytes);
	text_free(&lines);
}

static void put_all(struct exporter *x, const struct web_sources *from)
{
	x->proxy = csv_column(x->csv, "pxname");
	x->server = csv_column(x->csv, "svname");
	x->type = csv_column(x->csv, "type");
	x->status = csv_column(x->csv, "status");
	if ((x->wish->scope & SCOPE_GLOBAL) != 0)
		put_process(x, from);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if ((x->wish->scope & kinds[i].scope) == 0)
			continue;
		put_states(x, &kinds[i]);
		put_columns(x, &kinds[i]);
		if (kinds[i].bit == SHOWN_S)
			put_checks(x, &kinds[i]);
	}
	metrics_end(&x->m);
}

void answer_haproxy_metrics(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
			    struct text *out)
{
	const struct web_sources *from = &ctx->sources;
	struct exporter x = {.wish = w};
	struct text table;
	struct csv csv;

	text_init(&table);
	from->csv(from->arg, sums, false, &table);
	if (table.failed || table.bytes == NULL || csv_read(&csv, table.bytes) != 0) {
		out->failed = true;
		text_free(&table);
		return;
	}
	x.csv = &csv;
	metrics_init(&x.m, out, w->openmetrics);
	put_all(&x, from);
	csv_free(&csv);
	text_free(&table);
}
