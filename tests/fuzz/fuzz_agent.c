/* SPDX-License-Identifier: MIT
 *
 * fuzz_agent.c - any bytes as the answer of an agent, in any pieces, against a slow reader.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. The input: how the answer is cut, and the
 * answer. The slow reader has all of it at once and takes it apart with strtok_r(3).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"
#include "health/agent_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void push(struct agent_line *line, const uint8_t *data, size_t len, unsigned cuts)
{
	unsigned turn = cuts;

	agent_line_reset(line);
	for (size_t at = 0; at < len; turn = turn * 5 + 3) {
		const size_t piece = 1 + turn % (cuts + 1), left = len - at;
		const size_t n = piece < left ? piece : left;

		if (agent_line_push(line, data + at, n))
			break;
		at += n;
	}
}

/* The length of the line; SIZE_MAX = there is none. */
static size_t slow_length(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && i <= AGENT_LINE_MAX; i++) {
		if (data[i] == '\n' || data[i] == '\r')
			return i;
		if (data[i] == '\0')
			break;
	}
	return SIZE_MAX;
}

static void compare(const struct agent_line *line, const struct agent_words *w)
{
	enum agent_health health = AGENT_SAYS_NOTHING;
	char copy[AGENT_LINE_MAX + 1], *rest, *word;
	int admin = -1;

	memcpy(copy, line->text, line->len + 1);
	for (word = strtok_r(copy, " \t,", &rest); word != NULL && word[0] != '#';
	     word = strtok_r(NULL, " \t,", &rest)) {
		if (strcasecmp(word, "up") == 0)
			health = AGENT_SAYS_UP;
		else if (strcasecmp(word, "down") == 0 || strcasecmp(word, "fail") == 0 ||
			 strcasecmp(word, "stopped") == 0)
			health = AGENT_SAYS_DOWN;
		else if (strcasecmp(word, "ready") == 0)
			admin = SERVER_ADMIN_READY;
		else if (strcasecmp(word, "drain") == 0)
			admin = SERVER_ADMIN_DRAIN;
		else if (strcasecmp(word, "maint") == 0)
			admin = SERVER_ADMIN_MAINT;
	}
	check(w->health == health);
	check(w->has_admin == (admin >= 0));
	check(!w->has_admin || (int)w->admin == admin);
	check(w->percent <= SERVER_PERCENT_MAX);
	check(w->maxconn <= INT32_MAX);
	check(memchr(w->detail, '\0', sizeof(w->detail)) != NULL);
	for (const char *at = w->detail; *at != '\0'; at++)
		check(*at >= ' ' && *at <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_words words, again;
	struct agent_line line;
	size_t len;

	if (size < 1)
		return 0;
	len = slow_length(data + 1, size - 1);
	push(&line, data + 1, size - 1, 0);
	check(line.ended == (len != SIZE_MAX));
	if (!line.ended)
		return 0;
	check(line.len == len);
	agent_words_read(&line, &words);
	compare(&line, &words);
	push(&line, data + 1, size - 1, data[0]);
	agent_words_read(&line, &again);
	check(strcmp(words.detail, again.detail) == 0);
	check(words.percent == again.percent && words.maxconn == again.maxconn);
	return 0;
}
