/* SPDX-License-Identifier: MIT
 *
 * info.c - the output of `show info` of a running weir as numbers.
 *
 * Main thread.
 */
#include "info.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/info_line.h"

static const struct number_row {
	const char *name;
	size_t offset; /* in struct info, uint64_t */
} number_rows[] = {
    {"pid", offsetof(struct info, pid)},
    {"workers", offsetof(struct info, workers)},
    {"sessions", offsetof(struct info, sessions)},
    {"accepted", offsetof(struct info, accepted)},
    {"retries", offsetof(struct info, retries)},
    {"bytes_to_server", offsetof(struct info, bytes_to_server)},
    {"bytes_to_client", offsetof(struct info, bytes_to_client)},
    {"bytes_spliced", offsetof(struct info, bytes_spliced)},
    {"generation", offsetof(struct info, generation)},
    {"trial_left_s", offsetof(struct info, trial_left_s)},
    {"reloads", offsetof(struct info, reloads)},
    {"reloads_refused", offsetof(struct info, reloads_refused)},
    {"rollbacks", offsetof(struct info, rollbacks)},
};

/* The value of "NAME=VALUE" in a line. */
static uint64_t find_field(const struct info_line *line, const char *name)
{
	const char *value = line->value;
	size_t len = strlen(name);

	for (size_t i = 0; i + len < line->value_len; i++)
		if (strncmp(value + i, name, len) == 0 && value[i + len] == '=' &&
		    (i == 0 || value[i - 1] == ' '))
			return strtoull(value + i + len + 1, NULL, 10);
	return 0;
}

/* The first word of its value. */
static void copy_word(char out[static INFO_WORD_MAX], const struct info_line *line)
{
	info_line_copy(line, out, INFO_WORD_MAX);
	out[strcspn(out, " ")] = '\0';
}

bool info_parse(const char *text, struct info *out)
{
	struct info_line line;

	if (!info_line_find(text, "driver", &line))
		return false;
	copy_word(out->driver, &line);
	for (size_t i = 0; i < ARRAY_LEN(number_rows); i++) {
		uint64_t *number = (uint64_t *)(void *)((char *)out + number_rows[i].offset);
		const bool found = info_line_find(text, number_rows[i].name, &line);

		*number = found ? strtoull(line.value, NULL, 10) : 0;
	}
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		struct info_server *s = &out->servers[i];
		char name[64];

		(void)snprintf(name, sizeof(name), "server." PLAN_NAME "/%s",
			       demo_plan_server_name(i)); /* always fits */
		memset(s, 0, sizeof(*s));
		if (!info_line_find(text, name, &line))
			continue;
		copy_word(s->state, &line);
		s->sessions = find_field(&line, "sessions");
		s->total = find_field(&line, "total");
		s->failures = find_field(&line, "failures");
	}
	return true;
}
