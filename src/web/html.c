/* SPDX-License-Identifier: MIT
 *
 * html.c - text in HTML: nothing that a name or a message contains becomes markup.
 *
 * Any thread.
 */
#include "html.h"

#include <string.h>

#include "weir/base/check.h"

#define COUNT_EXACT_MAX 999999u

void html_raw(struct text *out, const char *markup)
{
	text_add(out, markup, strlen(markup));
}

/* ---- strings ---- */

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && strchr("&<>\"'", c) == NULL;
}

static void put_special(struct text *out, unsigned char c)
{
	switch (c) {
	case '&':
		html_raw(out, "&amp;");
		break;
	case '<':
		html_raw(out, "&lt;");
		break;
	case '>':
		html_raw(out, "&gt;");
		break;
	case '"':
		html_raw(out, "&quot;");
		break;
	case '\'':
		html_raw(out, "&#39;");
		break;
	default:
		text_printf(out, "\\x%02x", c);
		break;
	}
}

void html_text(struct text *out, const char *value)
{
	size_t plain;

	if (value == NULL)
		return;
	while (*value != '\0') {
		for (plain = 0; value[plain] != '\0' && is_plain((unsigned char)value[plain]);)
			plain++;
		text_add(out, value, plain);
		value += plain;
		if (*value != '\0')
			put_special(out, (unsigned char)*value++);
	}
}

static bool is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

void html_query(struct text *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (is_unreserved((unsigned char)*value))
			text_add(out, value, 1);
		else
			text_printf(out, "%%%02X", (unsigned char)*value);
	}
}

/* ---- numbers ---- */

/* With three digits at least: "1.23", "12.3", "123". */
static void put_scaled(struct text *out, double value, const char *unit)
{
	const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	text_printf(out, "%.*f %s", digits, value, unit);
}

static void put_count(struct text *out, uint64_t value)
{
	static const char *const units[] = {"M", "G", "T", "P", "E"};
	double scaled = (double)value / 1e6;
	size_t unit = 0;

	if (value <= COUNT_EXACT_MAX) {
		text_printf(out, "%llu", (unsigned long long)value);
		return;
	}
	while (scaled >= 999.5 && unit + 1 < ARRAY_LEN(units)) {
		scaled /= 1000;
		unit++;
	}
	put_scaled(out, scaled, units[unit]);
}

static void put_bytes(struct text *out, uint64_t value)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double scaled = (double)value / 1024;
	size_t unit = 0;

	if (value < 1024) {
		text_printf(out, "%llu B", (unsigned long long)value);
		return;
	}
	while (scaled >= 1023.5 && unit + 1 < ARRAY_LEN(units)) {
		scaled /= 1024;
		unit++;
	}
	put_scaled(out, scaled, units[unit]);
}

static void put_time(struct text *out, uint64_t us)
{
	if (us < 1000)
		text_printf(out, "%llu &micro;s", (unsigned long long)us);
	else if (us < 999500)
		put_scaled(out, (double)us / 1e3, "ms");
	else
		put_scaled(out, (double)us / 1e6, "s");
}

void html_number(struct text *out, enum html_form form, uint64_t value)
{
	switch (form) {
	case HTML_COUNT:
	case HTML_TROUBLE:
		put_count(out, value);
		break;
	case HTML_BYTES:
		put_bytes(out, value);
		break;
	case HTML_TIME:
		put_time(out, value);
		break;
	case HTML_PERCENT:
		text_printf(out, "%llu %%", (unsigned long long)value);
		break;
	case HTML_AGE:
		html_age(out, (int64_t)value);
		break;
	}
}

bool html_is_rounded(enum html_form form, uint64_t value)
{
	const bool is_exact = form == HTML_COUNT || form == HTML_TROUBLE;

	return !is_exact || value > COUNT_EXACT_MAX;
}

void html_age(struct text *out, int64_t seconds)
{
	const long long s = seconds > 0 ? seconds : 0;

	if (s < 60)
		text_printf(out, "%lld s", s);
	else if (s < 3600)
		text_printf(out, "%lld min", s / 60);
	else if (s < 86400)
		text_printf(out, "%lld h %lld min", s / 3600, s % 3600 / 60);
	else
		text_printf(out, "%lld d %lld h", s / 86400, s % 86400 / 3600);
}
