/* SPDX-License-Identifier: MIT
 *
 * plan_json.c - a plan as one JSON object, everything that is kept included.
 *
 * weir(8) describes its members. Control thread.
 */
#include <string.h>

#include "plan_items.h"
#include "weir/base/json.h"
#include "weir/base/wall_time.h"

/* A list of an item. */
enum item_list { ITEM_LIST_NONE, ITEM_LIST_OPTIONS, ITEM_LIST_STAYS };

struct writer {
	struct json json;
	enum item_list list; /* has begun */
	bool restarts; /* the list of items has ended */
	uint64_t sessions;
	uint64_t left_frontends;
	uint64_t left_servers;
};

/* ---- items ---- */

static void add_socket(struct json *j, const struct plan_item *item)
{
	if (item->from_frontend == NULL)
		return;
	json_object(j, "socket_of");
	json_string(j, "frontend", item->from_frontend);
	json_string(j, "address", item->from_address);
	json_object_end(j);
}

static void add_sessions(struct json *j, const struct plan_item *item)
{
	static const char *const words[] = {
		[SESSIONS_STAY] = "stay",
		[SESSIONS_GO_ON] = "go-on",
		[SESSIONS_END_IDLE] = "end-when-idle",
		[SESSIONS_END] = "end",
	};

	if (item->kind != ITEM_FRONTEND && item->kind != ITEM_BACKEND && item->kind != ITEM_SERVER)
		return;
	if (item->fate == FATE_ADDED)
		return;
	json_unsigned(j, "sessions", item->sessions);
	json_string(j, "sessions_then", words[item->then]);
}

static void count_sessions(struct writer *w, const struct plan_item *item)
{
	if (item->kind == ITEM_FRONTEND)
		w->sessions += item->sessions;
	if (item->kind == ITEM_FRONTEND && item->fate == FATE_REMOVED)
		w->left_frontends += item->sessions;
	if (item->kind == ITEM_SERVER && item->fate == FATE_REMOVED)
		w->left_servers += item->sessions;
}

static void on_begin(void *arg, const struct plan_item *item)
{
	struct writer *w = arg;
	struct json *j = &w->json;

	count_sessions(w, item);
	json_line(j, 4);
	json_object(j, NULL);
	json_string(j, "kind", plan_kind_word(item->kind));
	json_string(j, "what", plan_fate_word(item->fate));
	if (item->owner != NULL)
		json_string(j, item->kind == ITEM_SERVER ? "backend" : "frontend", item->owner);
	if (item->name != NULL)
		json_string(j, "name", item->name);
	if (item->line != NULL)
		json_string(j, "line", item->line);
	if (item->sockets > 0) {
		json_unsigned(j, "descriptors", item->sockets);
		json_unsigned(j, "memory_bytes", item->memory);
	}
	if (item->bound_anew)
		json_bool(j, "bound_anew", true);
	if (item->revives)
		json_bool(j, "revives", true);
	if (item->adopted)
		json_bool(j, "adopted", true);
	add_socket(j, item);
	add_sessions(j, item);
	w->list = ITEM_LIST_NONE;
}

static void end_list(struct writer *w)
{
	if (w->list != ITEM_LIST_NONE)
		json_array_end(&w->json);
	w->list = ITEM_LIST_NONE;
}

static void begin_list(struct writer *w, enum item_list list)
{
	if (w->list == list)
		return;
	end_list(w);
	json_array(&w->json, list == ITEM_LIST_OPTIONS ? "options" : "stays");
	w->list = list;
}

static void on_option(void *arg, const char *key, const char *before, const char *after)
{
	struct writer *w = arg;
	struct json *j = &w->json;

	begin_list(w, ITEM_LIST_OPTIONS);
	json_object(j, NULL);
	json_string(j, "key", key);
	json_string(j, "before", before);
	json_string(j, "after", after);
	json_object_end(j);
}

static void on_stays(void *arg, const struct run_time_value *v)
{
	struct writer *w = arg;
	struct json *j = &w->json;
	char since[WALL_TIME_MAX];

	begin_list(w, ITEM_LIST_STAYS);
	json_object(j, NULL);
	json_string(j, "what", v->word);
	json_string(j, "now", v->now);
	json_string(j, "file", v->file);
	if (v->mark->by == MARK_UNKNOWN)
		json_string(j, "by_uid", NULL);
	else
		json_unsigned(j, "by_uid", v->mark->by);
	json_string(j, "since", wall_time_format(v->mark->wall_ns, since));
	json_object_end(j);
}

static void on_end(void *arg)
{
	struct writer *w = arg;

	end_list(w);
	json_object_end(&w->json);
}

static void begin_restarts(struct writer *w)
{
	if (w->restarts)
		return;
	json_line(&w->json, 2);
	json_array_end(&w->json);
	json_line(&w->json, 2);
	json_array(&w->json, "needs_restart");
	w->restarts = true;
}

static void on_restart(void *arg, const char *key, const char *running, const char *next)
{
	struct writer *w = arg;
	struct json *j = &w->json;

	begin_restarts(w);
	json_object(j, NULL);
	json_string(j, "key", key);
	json_string(j, "running", running);
	json_string(j, "next", next);
	json_object_end(j);
}

/* ---- around them ---- */

static void add_messages(struct json *j, const char *messages)
{
	json_line(j, 2);
	json_array(j, "messages");
	while (*messages != '\0') {
		const size_t len = strcspn(messages, "\n");

		json_string_of(j, NULL, messages, len);
		messages += messages[len] == '\n' ? len + 1 : len;
	}
	json_array_end(j);
}

static void add_sums(const struct writer *w, struct json *j)
{
	json_line(j, 2);
	json_object(j, "sessions");
	json_unsigned(j, "open", w->sessions);
	json_unsigned(j, "of_removed_frontends", w->left_frontends);
	json_unsigned(j, "of_removed_servers", w->left_servers);
	json_object_end(j);
}

static void add_summary(const struct plan *plan, struct json *j)
{
	struct text line;

	text_init(&line);
	plan_describe(plan, &line);
	if (line.failed)
		j->out->failed = true;
	else
		json_string(j, "summary", line.bytes);
	text_free(&line);
}

int plan_print_json(const struct plan *plan, const struct plan_input *in, const char *messages,
		    struct text *out)
{
	struct writer w = {.list = ITEM_LIST_NONE};
	const struct plan_viewer viewer = {on_begin, on_option, on_stays, on_end, on_restart, &w};
	int err;

	json_init(&w.json, out, JSON_UTF8);
	w.json.spaced = true;
	json_object(&w.json, NULL);
	json_line(&w.json, 2);
	json_bool(&w.json, "would_change", !plan_is_empty(plan));
	json_line(&w.json, 2);
	add_summary(plan, &w.json);
	json_line(&w.json, 2);
	json_array(&w.json, "items");
	err = plan_items(plan, in, &viewer);
	if (err)
		return err;
	begin_restarts(&w);
	json_array_end(&w.json);
	add_sums(&w, &w.json);
	add_messages(&w.json, messages);
	json_line(&w.json, 0);
	json_object_end(&w.json);
	text_add(out, "\n", 1);
	return 0;
}
