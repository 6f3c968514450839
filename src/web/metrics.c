/* SPDX-License-Identifier: MIT
 *
 * metrics.c - writes metrics as Prometheus text or OpenMetrics: families, labels, samples.
 *
 * Owns nothing. Not thread-safe.
 */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

#define SUFFIX_TOTAL "_total"
#define SUFFIX_INFO  "_info"

static const struct {
	const char *suffix;
	const char *written;
	unsigned decimals;
} units[] = {{"_ns", "_seconds", 9}, {"_us", "_seconds", 6}, {"_ms", "_seconds", 3},
	     {"_per_s", "_per_second", 0}, {"_s", "_seconds", 0}};

void metrics_init(struct metrics *m, struct text *out, bool openmetrics)
{
	memset(m, 0, sizeof(*m));
	m->out = out;
	m->openmetrics = openmetrics;
}

static void add(struct metrics *m, const char *text)
{
	text_add(m->out, text, strlen(text));
}

/* Has `name` this end? Then its length without it goes to `*len`. */
static bool ends_with(const char *name, const char *suffix, size_t *len)
{
	const size_t all = strlen(name), n = strlen(suffix);

	if (all < n || strcmp(name + all - n, suffix) != 0)
		return false;
	*len = all - n;
	return true;
}

void metrics_family(struct metrics *m, const char *prefix, const char *name, enum metric_type type,
		    const char *help)
{
	char base[METRIC_NAME_MAX];
	const char *unit = "";
	size_t len;

	check(strlen(prefix) + strlen(name) + sizeof("_per_second_total") <= METRIC_NAME_MAX);
	(void)snprintf(base, sizeof(base), "%s", name); /* it fits */
	if (type == METRIC_COUNTER && ends_with(base, SUFFIX_TOTAL, &len))
		base[len] = '\0';
	m->decimals = 0;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!ends_with(base, units[i].suffix, &len))
			continue;
		base[len] = '\0';
		unit = units[i].written;
		m->decimals = units[i].decimals;
		break;
	}
	(void)snprintf(m->name, sizeof(m->name), "%s%s%s%s", prefix, base, unit,
		       type == METRIC_COUNTER ? SUFFIX_TOTAL : ""); /* it fits */
	m->type = type;
	m->help = help;
	m->open = false;
}

void metrics_unit(struct metrics *m, const char *unit)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].suffix + 1, unit) == 0)
			m->decimals = units[i].decimals;
}

/* ---- the head of a family ---- */

static void add_help(struct metrics *m)
{
	for (const char *c = m->help; *c != '\0'; c++) {
		if (*c == '\\')
			add(m, "\\\\");
		else if (*c == '\n')
			add(m, "\\n");
		else if (*c == '"' && m->openmetrics)
			add(m, "\\\"");
		else
			text_add(m->out, c, 1);
	}
	add(m, "\n");
}

/* In OpenMetrics the family of a counter or an info is called without the end of its samples. */
static void open_family(struct metrics *m)
{
	static const char *const types[] = {
		[METRIC_GAUGE] = "gauge", [METRIC_COUNTER] = "counter", [METRIC_INFO] = "info",
		[METRIC_HISTOGRAM] = "histogram"};
	const char *type = types[m->type];
	size_t len = strlen(m->name);

	if (m->openmetrics && m->type == METRIC_COUNTER)
		(void)ends_with(m->name, SUFFIX_TOTAL, &len);
	if (m->openmetrics && m->type == METRIC_INFO)
		(void)ends_with(m->name, SUFFIX_INFO, &len);
	if (!m->openmetrics && m->type == METRIC_INFO)
		type = types[METRIC_GAUGE];
	text_printf(m->out, "# HELP %.*s ", (int)len, m->name);
	add_help(m);
	text_printf(m->out, "# TYPE %.*s %s\n", (int)len, m->name, type);
	m->open = true;
}

/* ---- samples ---- */

void metrics_sample(struct metrics *m)
{
	if (!m->open)
		open_family(m);
	add(m, m->name);
	m->labeled = false;
}

void metrics_sample_part(struct metrics *m, const char *part)
{
	metrics_sample(m);
	add(m, part);
}

void metrics_label(struct metrics *m, const char *name, const char *value)
{
	add(m, m->labeled ? "," : "{");
	m->labeled = true;
	add(m, name);
	add(m, "=\"");
	while (*value != '\0') {
		const size_t plain = strcspn(value, "\\\"\n");

		text_add(m->out, value, plain);
		value += plain;
		if (*value == '\0')
			break;
		add(m, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
		value++;
	}
	add(m, "\"");
}

/* ---- numbers: most of the text, so without printf ---- */

#define NUMBER_MAX 24

/* The digits of `n`, at least `width` of them, into the end of `buf`; returns where they begin. */
static char *digits(char buf[static NUMBER_MAX], uint64_t n, unsigned width)
{
	char *to = buf + NUMBER_MAX;

	check(width < NUMBER_MAX);
	do {
		*--to = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0 || to > buf + NUMBER_MAX - width);
	return to;
}

static void add_number(struct metrics *m, uint64_t n, unsigned decimals)
{
	char buf[NUMBER_MAX];
	const char *from;
	uint64_t scale = 1;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	from = digits(buf, n / scale, 1);
	text_add(m->out, from, (size_t)(buf + NUMBER_MAX - from));
	if (decimals == 0)
		return;
	text_add(m->out, ".", 1);
	from = digits(buf, n % scale, decimals);
	text_add(m->out, from, (size_t)(buf + NUMBER_MAX - from));
}

static void end_labels(struct metrics *m)
{
	add(m, m->labeled ? "} " : " ");
}

void metrics_value_scaled(struct metrics *m, int64_t value, unsigned decimals)
{
	end_labels(m);
	if (value < 0)
		add(m, "-");
	add_number(m, value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value, decimals);
	add(m, "\n");
}

void metrics_value(struct metrics *m, uint64_t value)
{
	end_labels(m);
	add_number(m, value, m->decimals);
	add(m, "\n");
}

void metrics_count(struct metrics *m, uint64_t count)
{
	end_labels(m);
	add_number(m, count, 0);
	add(m, "\n");
}

/* OpenMetrics wants a limit that is not a whole number, or ends in ".0". */
void metrics_label_limit(struct metrics *m, uint64_t limit)
{
	add(m, m->labeled ? ",le=\"" : "{le=\"");
	m->labeled = true;
	if (limit == UINT64_MAX) {
		add(m, "+Inf");
	} else {
		add_number(m, limit, m->decimals);
		if (m->decimals == 0)
			add(m, ".0");
	}
	add(m, "\"");
}

void metrics_end(struct metrics *m)
{
	if (m->openmetrics)
		add(m, "# EOF\n");
}
