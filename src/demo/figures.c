/* SPDX-License-Identifier: MIT
 *
 * figures.c - numbers for people: short, grouped, with units.
 *
 * Any thread.
 */
#include "figures.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

/* With a decimal if there is room for one: "4.1", "12". */
static void scaled(double n, const char *gap, const char *const units[], size_t count, char *buf)
{
	size_t i = 0;

	while (n >= 999.5 && i + 1 < count) {
		n /= 1000;
		i++;
	}
	(void)snprintf(buf, FIGURE_MAX, "%.*f%s%s", i > 0 && n < 9.95 ? 1 : 0, n, gap, units[i]);
}

const char *figure_short(double n, char buf[static FIGURE_MAX])
{
	static const char *const units[] = {"", "k", "M", "G", "T"};

	scaled(n, "", units, ARRAY_LEN(units), buf);
	return buf;
}

const char *figure_bytes(double n, char buf[static FIGURE_MAX])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

	scaled(n, " ", units, ARRAY_LEN(units), buf);
	return buf;
}

const char *figure_grouped(uint64_t n, char buf[static FIGURE_MAX])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	char *out = buf;

	check(len > 0);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*out++ = ' ';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *figure_time(int64_t ns, char buf[static FIGURE_MAX])
{
	double ms = (double)ns / (double)NS_PER_MS;

	if (ms >= 999.5)
		(void)snprintf(buf, FIGURE_MAX, "%.1f s", ms / 1000);
	else
		(void)snprintf(buf, FIGURE_MAX, "%.*f ms", ms < 9.95 ? 1 : 0, ms);
	return buf;
}

double figure_percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}
