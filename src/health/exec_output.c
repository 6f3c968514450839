/* SPDX-License-Identifier: MIT
 *
 * exec_output.c - the last line of what a program prints.
 *
 * Any thread.
 */
#include "exec_output.h"

#include <string.h>

#include "weir/base/log.h"

void exec_output_init(struct exec_output *o)
{
	o->last_len = 0;
	o->line_len = 0;
}

static size_t without_blanks(const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
		len--;
	return len;
}

static void add(struct exec_output *o, const char *data, size_t len)
{
	const size_t room = sizeof(o->line) - o->line_len;

	if (len > room)
		len = room;
	memcpy(o->line + o->line_len, data, len);
	o->line_len += len;
}

static void end_line(struct exec_output *o)
{
	const size_t len = without_blanks(o->line, o->line_len);

	if (len > 0) {
		memcpy(o->last, o->line, len);
		o->last_len = len;
	}
	o->line_len = 0;
}

void exec_output_push(struct exec_output *o, const char *data, size_t len)
{
	while (len > 0) {
		const char *stop = memchr(data, '\n', len);
		const size_t n = stop != NULL ? (size_t)(stop - data) : len;

		add(o, data, n);
		if (stop == NULL)
			return;
		end_line(o);
		data += n + 1;
		len -= n + 1;
	}
}

void exec_output_end(const struct exec_output *o, char text[static EXEC_LINE_BYTES + 1])
{
	const size_t len = without_blanks(o->line, o->line_len);

	if (len > 0)
		log_escape(o->line, len, text, EXEC_LINE_BYTES + 1);
	else
		log_escape(o->last, o->last_len, text, EXEC_LINE_BYTES + 1);
}
