/* SPDX-License-Identifier: MIT
 *
 * admin_config.c - `config diff`: what differs from the configuration in effect, by whom and since when.
 *
 * Only reads. Main thread.
 */
#include "weir/admin/admin_answers.h"
#include "weir/base/wall_time.h"
#include "weir/engine/run_time_view.h"

static const char *kind_word(enum run_time_kind kind)
{
	static const char *const words[] = {
		[RUN_TIME_GLOBAL] = "global", [RUN_TIME_FRONTEND] = "frontend", [RUN_TIME_SERVER] = "server"};

	return words[kind];
}

/* "backend app: server a: weight 5 instead of 10, by uid 0 at 2026-11-23T16:05:00Z" */
static void show_line(void *arg, const struct run_time_value *v)
{
	const struct admin_call *c = arg;
	char by[RUN_TIME_BY_MAX];

	if (v->backend != NULL)
		text_printf(c->out, "backend %s: ", v->backend);
	text_printf(c->out, "%s%s%s: %s", kind_word(v->kind), v->name != NULL ? " " : "",
		    v->name != NULL ? v->name : "", v->word);
	if (v->now != NULL)
		text_printf(c->out, " %s", v->now);
	if (v->file != NULL)
		text_printf(c->out, " instead of %s", v->file);
	text_printf(c->out, ", %s\n", run_time_by(v->mark, by));
}

static void show_object(void *arg, const struct run_time_value *v)
{
	const struct admin_call *c = arg;
	char since[WALL_TIME_MAX];

	json_line(c->json, 2);
	json_object(c->json, NULL);
	json_string(c->json, "kind", kind_word(v->kind));
	if (v->backend != NULL)
		json_string(c->json, "backend", v->backend);
	if (v->name != NULL)
		json_string(c->json, "name", v->name);
	json_string(c->json, "what", v->word);
	json_string(c->json, "now", v->now);
	json_string(c->json, "file", v->file);
	if (v->mark->by == MARK_UNKNOWN)
		json_string(c->json, "by_uid", NULL);
	else
		json_unsigned(c->json, "by_uid", v->mark->by);
	json_string(c->json, "since", wall_time_format(v->mark->wall_ns, since));
	json_object_end(c->json);
}

void admin_config_diff(const struct admin_call *c)
{
	if (c->json == NULL) {
		run_time_view(c->ctx->engine, show_line, (void *)(uintptr_t)c);
		return;
	}
	json_array(c->json, NULL);
	run_time_view(c->ctx->engine, show_object, (void *)(uintptr_t)c);
	json_line(c->json, 0);
	json_array_end(c->json);
	text_add(c->out, "\n", 1);
}
