/* SPDX-License-Identifier: MIT
 *
 * setting_socket.c - numeric socket options: ports, bytes, marks, packet classes.
 *
 * Fields are written with memcpy(), as in setting_scalar.c. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/values.h"

/* Bytes, "off" = 0. */
static int take_bytes(const struct setting *s, uint64_t *bytes)
{
	*bytes = 0;
	return strcmp(s->words.list[0].text, "off") == 0 ? 0 : setting_size(s, bytes);
}

static void print_bytes(uint64_t bytes, FILE *out)
{
	char buf[VALUE_TEXT_MAX];

	fputs(bytes == 0 ? "off" : value_format_size(bytes, buf), out);
}

int setting_parse_bytes(const struct setting *s, void *field)
{
	uint64_t bytes;
	int err = take_bytes(s, &bytes);
	uint32_t value = (uint32_t)bytes;

	check(s->option->max <= UINT32_MAX);
	if (!err)
		memcpy(field, &value, sizeof(value));
	return err;
}

void setting_print_bytes(const void *field, const struct option *option, FILE *out)
{
	uint32_t value;

	(void)option; /* the same for every row */
	memcpy(&value, field, sizeof(value));
	print_bytes(value, out);
}

int setting_parse_pace(const struct setting *s, void *field)
{
	uint64_t bytes;
	int err = take_bytes(s, &bytes);

	if (!err)
		memcpy(field, &bytes, sizeof(bytes));
	return err;
}

void setting_print_pace(const void *field, const struct option *option, FILE *out)
{
	uint64_t bytes;

	(void)option; /* the same for every row */
	memcpy(&bytes, field, sizeof(bytes));
	print_bytes(bytes, out);
}

int setting_parse_port(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	uint64_t n = 0;
	uint16_t port;
	int err = value_number(w->text, &n);

	if (err == -EINVAL) {
		(void)setting_bad(s, w, 0, "is not a valid port");
		diag_hint(s->diag, "write a number of 1 to 65535");
		return err;
	}
	err = setting_in_range(s, w, err ? UINT64_MAX : n);
	port = (uint16_t)n;
	if (!err)
		memcpy(field, &port, sizeof(port));
	return err;
}

void setting_print_port(const void *field, const struct option *option, FILE *out)
{
	uint16_t port;

	(void)option; /* the same for every row */
	memcpy(&port, field, sizeof(port));
	fprintf(out, "%u", port);
}

bool setting_port_is_set(const void *field)
{
	uint16_t port;

	memcpy(&port, field, sizeof(port));
	return port != 0;
}

/* Up to eight hex digits. */
static int take_hex(const char *text, uint64_t *n)
{
	size_t len = strspn(text, "0123456789abcdefABCDEF");

	if (len == 0 || text[len] != '\0')
		return -EINVAL;
	if (len > 8)
		return -ERANGE;
	*n = 0;
	for (; *text != '\0'; text++)
		*n = *n * 16 + (uint64_t)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
	return 0;
}

int setting_parse_mark(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	bool hex = w->text[0] == '0' && (w->text[1] == 'x' || w->text[1] == 'X');
	uint64_t n = 0;
	uint32_t mark;
	int err = 0;

	if (strcmp(w->text, "off") != 0)
		err = hex ? take_hex(w->text + 2, &n) : value_number(w->text, &n);
	if (err == -EINVAL) {
		(void)setting_bad(s, w, 0, "is not a valid mark");
		diag_hint(s->diag, "write off or a number: 16, or 0x10");
		return err;
	}
	err = setting_in_range(s, w, err ? UINT64_MAX : n);
	mark = (uint32_t)n;
	if (!err)
		memcpy(field, &mark, sizeof(mark));
	return err;
}

void setting_print_mark(const void *field, const struct option *option, FILE *out)
{
	uint32_t mark;

	(void)option; /* there is one row */
	memcpy(&mark, field, sizeof(mark));
	if (mark == 0)
		fputs("off", out);
	else
		fprintf(out, "0x%x", mark);
}

/* Names of RFC 2474, 2597, 3246, 5865 and 8622. */
static const struct dscp_name {
	const char *name;
	int value;
} dscp_names[] = {
	{"cs0", 0},   {"cs1", 8},   {"cs2", 16},  {"cs3", 24},	{"cs4", 32},  {"cs5", 40},
	{"cs6", 48},  {"cs7", 56},  {"af11", 10}, {"af12", 12}, {"af13", 14}, {"af21", 18},
	{"af22", 20}, {"af23", 22}, {"af31", 26}, {"af32", 28}, {"af33", 30}, {"af41", 34},
	{"af42", 36}, {"af43", 38}, {"ef", 46},	  {"va", 44},	{"le", 1},
};

int setting_parse_dscp(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	uint64_t n = 0;
	int value = -1, err = -EINVAL;

	if (strcmp(w->text, "off") == 0)
		err = 0;
	for (size_t i = 0; i < ARRAY_LEN(dscp_names) && err; i++) {
		if (strcmp(dscp_names[i].name, w->text) != 0)
			continue;
		value = dscp_names[i].value;
		err = 0;
	}
	if (err) {
		err = value_number(w->text, &n);
		if (err == -EINVAL) {
			(void)setting_bad(s, w, 0, "is not a packet class");
			diag_hint(s->diag, "write off, 0 to 63, cs0 to cs7, af11 to af43, ef or le");
			return err;
		}
		err = setting_in_range(s, w, err ? UINT64_MAX : n);
		value = (int)n;
	}
	if (!err)
		memcpy(field, &value, sizeof(value));
	return err;
}

void setting_print_dscp(const void *field, const struct option *option, FILE *out)
{
	int value;

	(void)option; /* there is one row */
	memcpy(&value, field, sizeof(value));
	for (size_t i = 0; i < ARRAY_LEN(dscp_names); i++) {
		if (dscp_names[i].value != value)
			continue;
		fputs(dscp_names[i].name, out);
		return;
	}
	if (value < 0)
		fputs("off", out);
	else
		fprintf(out, "%d", value);
}
