/* SPDX-License-Identifier: MIT
 *
 * exec_output.h - the last line of what a program prints.
 *
 * Lines that are empty or blank do not count. Keeps the beginning of two lines, however much is printed. Pure
 * code. Any thread.
 */
#ifndef WEIR_HEALTH_EXEC_OUTPUT_H
#define WEIR_HEALTH_EXEC_OUTPUT_H

#include <stddef.h>

/* Bytes of a line that are kept. */
#define EXEC_LINE_BYTES 200u

struct exec_output {
	char last[EXEC_LINE_BYTES]; /* the last line that has ended */
	size_t last_len;
	char line[EXEC_LINE_BYTES]; /* the one after it */
	size_t line_len;
};

void exec_output_init(struct exec_output *o);
void exec_output_push(struct exec_output *o, const char *data, size_t len);
/* No more will come: the last line, escaped (log_escape()) and cut to EXEC_LINE_BYTES; "" = there is none. */
void exec_output_end(const struct exec_output *o, char text[static EXEC_LINE_BYTES + 1]);

#endif
