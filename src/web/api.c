/* SPDX-License-Identifier: MIT
 *
 * api.c - the process, its frontends, backends and servers as JSON, as doc/api.md describes them.
 *
 * Keys are names of table rows: a field once published keeps its name and its meaning. Main thread.
 */
#include <unistd.h>

#include "weir/base/counters.h"
#include "weir/base/json.h"
#include "weir/engine/pulse.h"
#include "weir/engine/run_time_view.h"
#include "weir/entry/endpoint_label.h"
#include "answer.h"
#include "objects.h"
#include "process.h"

/* ---- the process ---- */

static void put_figure(void *to, const struct figure *row, uint64_t value)
{
	json_unsigned(to, row->name, value);
}

static void put_closes(struct json *j, const struct engine *e)
{
	char word[REASON_WORD_MAX];

	json_object(j, "closes");
	for (int i = 0; i < CLOSE_REASONS; i++)
		json_unsigned(j, object_reason(i, word), engine_closes(e, (enum close_reason)i));
	json_object_end(j);
}

static void put_workers(struct json *j, const struct engine *e)
{
	const struct pulse_row *row;
	struct worker_pulse pulse;

	json_array(j, "per_worker");
	for (unsigned i = 0; i < e->worker_count; i++) {
		engine_pulse(e, i, &pulse);
		json_object(j, NULL);
		for (size_t n = 0; (row = pulse_row(n)) != NULL; n++)
			json_unsigned(j, row->name, pulse_at(&pulse, row->offset));
		json_object_end(j);
	}
	json_array_end(j);
}

void answer_info(const struct web_context *ctx, struct text *out)
{
	const char *why = ctx->sources.why_not_ready(ctx->sources.arg);
	const struct process_row *process;
	const struct counter_row *counter;
	struct json j;

	json_init(&j, out, JSON_CODES);
	json_object(&j, NULL);
	json_string(&j, "name", "weir");
	json_string(&j, "version", WEIR_VERSION);
	json_unsigned(&j, "pid", (uint64_t)getpid());
	json_string(&j, "driver", ctx->driver);
	json_string(&j, "state", why != NULL ? why : "ready");
	for (size_t i = 0; (process = process_row(i)) != NULL; i++)
		json_unsigned(&j, process->name, process->value(ctx));
	json_object(&j, "counters");
	for (size_t i = 0; (counter = counter_row(i)) != NULL; i++)
		json_unsigned(&j, counter->name, engine_sum_at(ctx->engine, counter->offset));
	json_object_end(&j);
	json_object(&j, "figures");
	for (size_t i = 0; i < ctx->figure_count; i++)
		ctx->figures[i].publish(ctx->figures[i].from, put_figure, &j);
	json_object_end(&j);
	put_closes(&j, ctx->engine);
	put_workers(&j, ctx->engine);
	json_object_end(&j);
	text_add(out, "\n", 1);
}

/* ---- frontends, backends, servers ---- */

static void put_frontend(struct json *j, const struct object *o)
{
	char address[ADDR_TEXT_MAX];

	json_string(j, "name", o->fe->config->name);
	json_string(j, "state", object_is_accepting(o) ? "open" : "closed");
	json_array(j, "addresses");
	frontend_foreach_endpoint(o->fe, ep) {
		if (ep->stage == ENDPOINT_OPEN && endpoint_begins_line(ep))
			json_string(j, NULL, endpoint_line_address(ep, address));
	}
	json_array_end(j);
}

static void put_check(struct json *j, const struct probe_view *v)
{
	if (v == NULL) {
		json_printf(j, "check", "null");
		return;
	}
	json_object(j, "check");
	json_string(j, "code", probe_code_word(v->code));
	json_string(j, "text", probe_code_text(v->code));
	json_string(j, "detail", v->detail);
	json_signed(j, "duration_ms", v->duration_ms);
	json_unsigned(j, "health", v->health);
	json_unsigned(j, "rise", v->rise);
	json_unsigned(j, "fall", v->fall);
	json_unsigned(j, "shared", v->shared);
	json_object_end(j);
}

static void put_agent(struct json *j, const struct server *s)
{
	const struct agent_view *v = s->agent_off ? NULL : s->agent_view;

	if (v == NULL) {
		json_printf(j, "agent", "null");
		return;
	}
	json_object(j, "agent");
	json_string(j, "code", probe_code_word(v->code));
	json_string(j, "text", probe_code_text(v->code));
	json_string(j, "detail", v->detail);
	json_signed(j, "duration_ms", v->duration_ms);
	json_string(j, "admin_state", run_time_admin_word(s->agent.admin));
	json_bool(j, "down", s->agent.down);
	json_object_end(j);
}

static void put_server(struct json *j, const struct object *o)
{
	const struct addr *a = server_addr(o->s);
	char address[ADDR_TEXT_MAX];

	json_string(j, "backend", o->b->config->name);
	json_string(j, "name", o->s->config->name);
	json_string(j, "state", server_state_word(object_state(o)));
	json_string(j, "admin_state", run_time_admin_word(o->s->admin));
	json_string(j, "address", a != NULL ? addr_format(a, address) : NULL);
	put_check(j, o->s->checks_off ? NULL : o->s->probe);
	put_agent(j, o->s);
}

static void put_object(void *arg, const struct object *o)
{
	struct json *j = arg;
	const struct object_row *row;
	const struct tally_row *tally;
	char word[REASON_WORD_MAX];

	json_line(j, 2);
	json_object(j, NULL);
	if (o->scope == SCOPE_FRONTEND) {
		put_frontend(j, o);
	} else if (o->scope == SCOPE_SERVER) {
		put_server(j, o);
	} else {
		json_string(j, "name", o->b->config->name);
		json_string(j, "state", o->b->usable > 0 ? "up" : "down");
		json_unsigned(j, "servers", o->b->server_count);
	}
	for (size_t i = 0; (row = object_row(o->scope, i)) != NULL; i++)
		json_unsigned(j, row->name, row->value(o));
	json_object(j, "tallies");
	for (size_t i = 0; (tally = tally_row(i)) != NULL; i++)
		if (object_has_tally(o->scope, tally))
			json_unsigned(j, tally->field, object_tally(o, tally));
	json_object_end(j);
	json_object(j, "closes");
	for (int i = 0; i < CLOSE_REASONS; i++)
		if (o->sum->closes[i] > 0)
			json_unsigned(j, object_reason(i, word), o->sum->closes[i]);
	json_object_end(j);
	json_object_end(j);
}

void answer_objects(const struct web_context *ctx, enum wish_scope scope, const struct chunks *sums,
		    struct text *out)
{
	struct objects all;
	struct json j;

	objects_init(&all, ctx, sums);
	json_init(&j, out, JSON_CODES);
	json_array(&j, NULL);
	objects_foreach(&all, scope, put_object, &j);
	json_line(&j, 0);
	json_array_end(&j);
	text_add(out, "\n", 1);
}
