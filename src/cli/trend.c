/* SPDX-License-Identifier: MIT
 *
 * trend.c - the last values of a rate, drawn as a line of blocks; and those of a weir that `top` watches.
 *
 * Main thread.
 */
#include "trend.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "view_text.h"

void trend_add(struct trend *t, uint64_t value)
{
	t->values[t->next] = value;
	t->next = (t->next + 1) % TREND_MAX;
	if (t->count < TREND_MAX)
		t->count++;
}

/* The value `age` before the newest. */
static uint64_t value_at(const struct trend *t, unsigned age)
{
	check(age < t->count);
	return t->values[(t->next + TREND_MAX - 1 - age) % TREND_MAX];
}

void trend_draw(const struct trend *t, unsigned wide, bool blocks, struct text *out)
{
	static const char *const drawn[][8] = {
		{"_", ".", ":", "-", "=", "+", "*", "#"},
		{"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
	};
	const unsigned shown = t->count < wide ? t->count : wide;
	uint64_t most = 0;

	for (unsigned age = 0; age < shown; age++)
		if (value_at(t, age) > most)
			most = value_at(t, age);
	text_printf(out, "%*s", (int)(wide - shown), "");
	for (unsigned age = shown; age > 0; age--) {
		const uint64_t value = value_at(t, age - 1);
		/* Whatever is not zero can be seen. */
		const unsigned height = value == 0 ? 0 : 1 + (unsigned)(6. * (double)value / (double)most);

		text_printf(out, "%s", drawn[blocks][height]);
	}
}

void trends_init(struct trends *t)
{
	memset(t, 0, sizeof(*t));
}

void trends_free(struct trends *t)
{
	free(t->servers);
	trends_init(t);
}

static bool is_of(const struct server_trend *s, const struct view_row *row)
{
	return strcmp(s->name, row->name) == 0 && strcmp(s->proxy, row->proxy) == 0;
}

static bool is_same_list(const struct trends *t, const struct view *v)
{
	if (t->server_count != v->server_count)
		return false;
	for (size_t i = 0; i < v->server_count; i++)
		if (!is_of(&t->servers[i], &v->servers[i]))
			return false;
	return true;
}

/* Servers rarely come and go, and keep their order: the search goes on behind the last one found. */
static void follow_list(struct trends *t, const struct view *v)
{
	struct server_trend *servers = calloc(v->server_count + 1, sizeof(*servers));
	size_t at = 0;

	for (size_t i = 0; servers != NULL && i < v->server_count; i++) {
		struct server_trend *s = &servers[i];

		for (size_t n = 0; n < t->server_count; n++) {
			const size_t j = (at + n) % t->server_count;

			if (!is_of(&t->servers[j], &v->servers[i]))
				continue;
			*s = t->servers[j];
			at = j + 1;
			break;
		}
		memcpy(s->proxy, v->servers[i].proxy, sizeof(s->proxy));
		memcpy(s->name, v->servers[i].name, sizeof(s->name));
	}
	free(t->servers);
	t->servers = servers;
	t->server_count = servers != NULL ? v->server_count : 0;
}

void trends_add(struct trends *t, const struct view *now, const struct view *before)
{
	const int64_t ns = now->taken_ns - before->taken_ns;
	const struct view_row **old = calloc(now->server_count + 1, sizeof(*old));

	trend_add(&t->accepted, view_per_s(now->accepted, before->accepted, ns));
	trend_add(&t->bytes, view_per_s(now->bytes_to_server + now->bytes_to_client,
					before->bytes_to_server + before->bytes_to_client, ns));
	if (!is_same_list(t, now))
		follow_list(t, now);
	if (old != NULL)
		view_match(now->servers, now->server_count, before->servers, before->server_count, old);
	for (size_t i = 0; old != NULL && i < t->server_count; i++) {
		const struct view_row *row = &now->servers[i];

		/* Since when a new server has its totals is not known. */
		trend_add(&t->servers[i].accepted,
			  old[i] != NULL ? view_per_s(row->total, old[i]->total, ns) : 0);
		trend_add(&t->servers[i].bytes,
			  old[i] != NULL ? view_per_s(view_moved(row), view_moved(old[i]), ns) : 0);
	}
	free(old);
}
