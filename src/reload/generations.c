/* SPDX-License-Identifier: MIT
 *
 * generations.c - what was in effect: when, by whom, what changed, and the texts to go back to.
 *
 * Owns a reference to each text that is kept. Two generations can share one: after a rollback, for example.
 * Main thread.
 */
#include "weir/reload/generations.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/wall_time.h"

static bool is_same(const struct config_text *a, const struct config_text *b)
{
	if (a == NULL || b == NULL)
		return false;
	return config_text_hash_same(config_text_hash(a), config_text_hash(b));
}

/* ---- what is remembered ---- */

static void forget_text(struct generation *row)
{
	config_text_drop(row->text);
	row->text = NULL;
}

/* Keeps the texts that were in effect last. */
static void limit_texts(struct generations *g)
{
	size_t distinct = 0;

	for (size_t i = g->count; i-- > 0;) {
		struct generation *row = &g->rows[i];
		bool known = false;

		for (size_t k = i + 1; k < g->count && !known; k++)
			known = is_same(row->text, g->rows[k].text);
		if (row->text == NULL || known)
			continue;
		if (distinct == GENERATIONS_TEXTS_MAX)
			forget_text(row);
		else
			distinct++;
	}
}

void generations_add(struct generations *g, const struct generation *row, enum generation_fate before)
{
	if (g->count > 0)
		generations_last(g)->fate = before;
	if (g->count == GENERATIONS_MAX) {
		forget_text(&g->rows[0]);
		memmove(g->rows, g->rows + 1, (GENERATIONS_MAX - 1) * sizeof(g->rows[0]));
		g->count--;
	}
	g->rows[g->count] = *row;
	g->rows[g->count].text = config_text_hold(row->text);
	g->count++;
	limit_texts(g);
}

void generations_free(struct generations *g)
{
	for (size_t i = 0; i < g->count; i++)
		forget_text(&g->rows[i]);
	g->count = 0;
}

/* ---- finding ---- */

struct generation *generations_last(struct generations *g)
{
	check(g->count > 0);
	return &g->rows[g->count - 1];
}

const struct generation *generations_find(const struct generations *g, uint64_t number)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->rows[i].number == number)
			return &g->rows[i];
	return NULL;
}

bool generations_can_go(const struct generations *g, const struct generation *row)
{
	return row->text != NULL && !is_same(row->text, g->rows[g->count - 1].text);
}

const struct generation *generations_before(const struct generations *g)
{
	for (size_t i = g->count; i-- > 0;)
		if (generations_can_go(g, &g->rows[i]))
			return &g->rows[i];
	return NULL;
}

static bool is_last_of_its_text(const struct generations *g, size_t i)
{
	for (size_t k = i + 1; k < g->count; k++)
		if (is_same(g->rows[i].text, g->rows[k].text))
			return false;
	return true;
}

void generations_name_kept(const struct generations *g, struct text *out)
{
	uint64_t found[GENERATIONS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < g->count; i++)
		if (generations_can_go(g, &g->rows[i]) && is_last_of_its_text(g, i))
			found[count++] = g->rows[i].number;
	for (size_t i = 0; i < count; i++)
		text_printf(out, "%s%llu", i == 0 ? "" : i + 1 < count ? ", " : " and ",
			    (unsigned long long)found[i]);
}

/* ---- show generations ---- */

static const char *const how_words[] = {
	[GENERATION_START] = "start",	    [GENERATION_RELOAD] = "reload", [GENERATION_SIGNAL] = "SIGHUP",
	[GENERATION_ROLLBACK] = "rollback", [GENERATION_RETURN] = "return",
};

static const char *const fate_words[] = {
	[GENERATION_IN_EFFECT] = "in effect",	  [GENERATION_ON_TRIAL] = "on trial",
	[GENERATION_REPLACED] = "replaced",	  [GENERATION_RETURNED] = "returned",
	[GENERATION_ROLLED_BACK] = "rolled back",
};

static void show_line(const struct generation *row, struct text *out)
{
	char time[WALL_TIME_MAX];

	text_printf(out, "generation %llu, %s, %s", (unsigned long long)row->number,
		    wall_time_format(row->wall_ns, time), how_words[row->how]);
	if (row->uid != (uid_t)-1)
		text_printf(out, " by uid %u", (unsigned)row->uid);
	if (row->as != 0)
		text_printf(out, " to generation %llu", (unsigned long long)row->as);
	text_printf(out, ", %s", fate_words[row->fate]);
	if (row->fate == GENERATION_ON_TRIAL)
		text_printf(out, " until %s", wall_time_format(row->until_wall_ns, time));
	text_printf(out, ", text %s%s%s\n", row->text != NULL ? "kept" : "not kept",
		    row->changed[0] != '\0' ? ": " : "", row->changed);
}

static void show_object(const struct generation *row, struct json *json)
{
	char time[WALL_TIME_MAX];

	json_object(json, NULL);
	json_unsigned(json, "generation", row->number);
	json_string(json, "time", wall_time_format(row->wall_ns, time));
	json_string(json, "how", how_words[row->how]);
	if (row->uid != (uid_t)-1)
		json_unsigned(json, "uid", row->uid);
	else
		json_string(json, "uid", NULL);
	if (row->as != 0)
		json_unsigned(json, "as", row->as);
	else
		json_string(json, "as", NULL);
	json_string(json, "state", fate_words[row->fate]);
	json_string(json, "until",
		    row->fate == GENERATION_ON_TRIAL ? wall_time_format(row->until_wall_ns, time) : NULL);
	json_bool(json, "text_kept", row->text != NULL);
	json_string(json, "changed", row->changed);
	json_object_end(json);
}

void generations_show(const struct generations *g, struct text *out, struct json *json)
{
	if (json != NULL)
		json_array(json, NULL);
	for (size_t i = 0; i < g->count; i++) {
		if (json != NULL)
			show_object(&g->rows[i], json);
		else
			show_line(&g->rows[i], out);
	}
	if (json != NULL)
		json_array_end(json);
}
