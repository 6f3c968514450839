/* SPDX-License-Identifier: MIT
 *
 * admin_json.c - answers of the admin protocol as JSON, converted from their text form.
 *
 * A new line of `show info` therefore appears in the JSON automatically. Main thread.
 */
#include "weir/admin/admin_answers.h"
#include "weir/base/info_line.h"

void admin_json_of_lines(const char *lines, struct json *out)
{
	struct info_line line;

	json_object(out, NULL);
	while (info_line_next(&lines, &line)) {
		json_line(out, 2);
		json_key(out, line.name, line.name_len);
		json_word(out, NULL, line.value, line.value_len);
	}
	json_line(out, 0);
	json_object_end(out);
	text_add(out->out, "\n", 1);
}
