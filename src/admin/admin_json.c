/* SPDX-License-Identifier: MIT
 *
 * admin_json.c - answers of the admin protocol as JSON, made of the lines that they are as text.
 *
 * So a new line of `show info` is in the JSON without a second word. Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"

void admin_json_of_lines(const char *lines, struct json *out)
{
	const char *line = lines;

	json_object(out, NULL);
	for (size_t len; *line != '\0'; line += len + (line[len] == '\n' ? 1 : 0)) {
		const char *colon;

		len = strcspn(line, "\n");
		colon = memchr(line, ':', len);
		if (colon == NULL || colon[1] != ' ')
			continue;
		json_line(out, 2);
		json_key(out, line, (size_t)(colon - line));
		json_word(out, NULL, colon + 2, len - (size_t)(colon + 2 - line));
	}
	json_line(out, 0);
	json_object_end(out);
	text_add(out->out, "\n", 1);
}
