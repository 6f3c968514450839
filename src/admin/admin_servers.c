/* SPDX-License-Identifier: MIT
 *
 * admin_servers.c - what other programs read about servers: their state, their history, what is hashed.
 *
 * Only reads. `show servers state` is HAProxy's version 1, whose columns never change; the JSON has more.
 * Main thread.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/change_log.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"


/* HAProxy's numbers (server-t.h, check-t.h of version 2.6). */
enum op_state { OP_STOPPED, OP_STARTING, OP_RUNNING, OP_STOPPING };
enum admin_mask {
	ADMIN_MASK_MAINT = 1,
	ADMIN_MASK_CONFIGURED_MAINT = 4,
	ADMIN_MASK_DRAIN = 8,
	ADMIN_MASK_UNRESOLVED = 32
};
enum probe_verdict {
	PROBE_VERDICT_UNKNOWN = 0,
	PROBE_VERDICT_FAILED = 2,
	PROBE_VERDICT_PASSED = 3,
	PROBE_VERDICT_CONDITION = 4 /* passed, but asks to be drained */
};
enum probe_state {
	PROBE_STATE_RUNNING = 1,
	PROBE_STATE_CONFIGURED = 2,
	PROBE_STATE_ENABLED = 4,
	PROBE_STATE_PAUSED = 8,
	PROBE_STATE_AGENT = 16
};

static uint64_t checksum_of(struct backend *b)
{
	return backend_roster(b)->checksum;
}

/* How to build an answer: one line, or one object, for each item. */
struct listing {
	const char *header; /* for text; NULL = none */
	const char *refusal; /* HAProxy's of an unknown backend; NULL = it does not have the command */
	void (*show)(const struct admin_call *c, struct backend *b);
};

static void begin_answer(const struct admin_call *c, const char *header)
{
	if (c->json != NULL)
		json_array(c->json, NULL);
	else if (header != NULL)
		text_add(c->out, header, strlen(header));
}

static void end_answer(const struct admin_call *c)
{
	if (c->json == NULL)
		return;
	json_line(c->json, 0);
	json_array_end(c->json);
	text_add(c->out, "\n", 1);
}

/* Lists the requested backend, or all of them. */
static void list(const struct admin_call *c, const struct listing *l)
{
	struct engine *e = c->ctx->engine;
	struct backend *one = NULL;

	if (c->arg_count > 0 && (one = admin_find_backend(c, c->args[0], l->refusal)) == NULL)
		return;
	begin_answer(c, l->header);
	for (size_t i = 0; i < e->backend_count; i++)
		if (one == NULL || one == e->backends[i])
			l->show(c, e->backends[i]);
	end_answer(c);
}

static void begin_object(const struct admin_call *c)
{
	json_line(c->json, 2);
	json_object(c->json, NULL);
}

static void add_checksum(const struct admin_call *c, uint64_t checksum)
{
	json_printf(c->json, "checksum", "\"%016llx\"", (unsigned long long)checksum);
}

/* ---- show backend, show hash ---- */

static void show_name(const struct admin_call *c, struct backend *b)
{
	if (c->json == NULL) {
		text_printf(c->out, "%s\n", b->config->name);
		return;
	}
	begin_object(c);
	json_string(c->json, "name", b->config->name);
	json_object_end(c->json);
}

void admin_show_backend(const struct admin_call *c)
{
	static const struct listing names = {"# name\n", NULL, show_name};

	list(c, &names);
}

const char *admin_algorithm(const struct backend *b, char buf[static OPTION_WORD_MAX])
{
	return option_choice_word(IN_BACKEND, "balance", b->config->balance.algorithm, buf);
}

static void show_hash(const struct admin_call *c, struct backend *b)
{
	const struct config_balancing *how = &b->config->balance;
	char algorithm[OPTION_WORD_MAX], hash[OPTION_WORD_MAX], key[OPTION_WORD_MAX];
	const struct roster *r = backend_roster(b);
	enum config_hash_key what = how->hash_key;

	if (what == CONFIG_HASH_KEY_AUTO && list_empty(&b->sets))
		what = CONFIG_HASH_KEY_NAME;
	(void)admin_algorithm(b, algorithm);
	(void)option_choice_word(IN_BALANCE, "hash", how->hash, hash);
	(void)option_choice_word(IN_BALANCE, "hash-key", what, key);
	if (c->json != NULL) {
		begin_object(c);
		json_string(c->json, "backend", b->config->name);
		json_string(c->json, "algorithm", algorithm);
		if (how->algorithm == CONFIG_BALANCE_SOURCE)
			json_string(c->json, "hash", hash);
		json_string(c->json, "key", key);
		json_unsigned(c->json, "servers", r->count);
		add_checksum(c, r->checksum);
		json_object_end(c->json);
	} else {
		text_printf(c->out, "%s algorithm=%s%s%s key=%s servers=%zu checksum=%016llx\n",
			    b->config->name, algorithm,
			    how->algorithm == CONFIG_BALANCE_SOURCE ? " hash=" : "",
			    how->algorithm == CONFIG_BALANCE_SOURCE ? hash : "", key, r->count,
			    (unsigned long long)r->checksum);
	}
}

void admin_show_hash(const struct admin_call *c)
{
	static const struct listing hashes = {NULL, NULL, show_hash};

	list(c, &hashes);
}

/* ---- show servers state ---- */

enum state_column {
#define COLUMN(name, nothing) STATE_##name,
#include "state_columns.tbl.h"
#undef COLUMN
	STATE_COLUMNS
};

static const char state_header[] = "1\n#"
#define COLUMN(name, nothing) " " #name
#include "state_columns.tbl.h"
#undef COLUMN
				   "\n";

/* A value for which HAProxy has a number or a word; a text takes precedence over a number. */
struct state_cell {
	const char *text; /* borrows */
	uint64_t number;
};

static const struct state_column_row {
	const char *name;
	struct state_cell nothing; /* value of a cell that is not filled in */
} state_columns[] = {
#define COLUMN(name, nothing) [STATE_##name] = {#name, {nothing, 0}},
#include "state_columns.tbl.h"
#undef COLUMN
};

static unsigned op_state(const struct server *s)
{
	switch ((enum server_state)atomic_load_explicit(&s->state, memory_order_relaxed)) {
	case SERVER_UP:
	case SERVER_DRAIN:
		return s->slow_since_ns != 0 ? OP_STARTING : OP_RUNNING;
	case SERVER_NOLB:
		return OP_STOPPING;
	case SERVER_DOWN:
	case SERVER_UNRESOLVED:
	case SERVER_MAINT:
		break;
	}
	return OP_STOPPED;
}

static unsigned admin_mask(const struct server *s)
{
	unsigned mask = 0;

	if (server_admin_now(s) == SERVER_ADMIN_MAINT)
		mask |= ADMIN_MASK_MAINT;
	if (s->admin == SERVER_ADMIN_MAINT && s->config->disabled && s->changed_ns == 0)
		mask |= ADMIN_MASK_CONFIGURED_MAINT;
	if (server_admin_now(s) == SERVER_ADMIN_DRAIN)
		mask |= ADMIN_MASK_DRAIN;
	if (server_addr(s) == NULL)
		mask |= ADMIN_MASK_UNRESOLVED;
	return mask;
}

static unsigned probe_status(const struct probe_view *v)
{
	/* HAProxy reports "initializing" for a server that is not checked. */
	return probe_code_number(v != NULL ? v->code : PROBE_INI);
}

static unsigned probe_verdict(const struct probe_view *v)
{
	switch (v != NULL ? probe_code_outcome(v->code) : PROBE_OUTCOME_UNKNOWN) {
	case PROBE_OUTCOME_UNKNOWN:
		break;
	case PROBE_OUTCOME_PASSED:
		return v->code == PROBE_L7OKC ? PROBE_VERDICT_CONDITION : PROBE_VERDICT_PASSED;
	case PROBE_OUTCOME_FAILED:
		return PROBE_VERDICT_FAILED;
	}
	return PROBE_VERDICT_UNKNOWN;
}

static unsigned probe_state(const struct server *s, const struct probe_view *v)
{
	if (v == NULL)
		return 0;
	return PROBE_STATE_CONFIGURED | (s->checks_off ? 0u : PROBE_STATE_ENABLED) |
	       (v->running ? PROBE_STATE_RUNNING : 0u) |
	       (server_admin_now(s) == SERVER_ADMIN_MAINT ? PROBE_STATE_PAUSED : 0u);
}

static unsigned agent_state(const struct server *s)
{
	if (s->agent_view == NULL)
		return 0;
	return PROBE_STATE_AGENT | PROBE_STATE_CONFIGURED | (s->agent_off ? 0u : PROBE_STATE_ENABLED) |
	       (s->agent_view->running ? PROBE_STATE_RUNNING : 0u);
}

/* The address without its port; "-" if there is none, and for Unix sockets, as in HAProxy. */
static const char *host_of(const struct addr *a, char buf[static INET6_ADDRSTRLEN])
{
	const char *host = NULL;

	if (a != NULL && a->sa.sa_family == AF_INET)
		host = inet_ntop(AF_INET, &a->in.sin_addr, buf, INET6_ADDRSTRLEN);
	else if (a != NULL && a->sa.sa_family == AF_INET6)
		host = inet_ntop(AF_INET6, &a->in6.sin6_addr, buf, INET6_ADDRSTRLEN);
	return host != NULL ? host : "-";
}

static unsigned port_of(const struct server *s, const struct addr *a)
{
	if (a != NULL)
		return addr_port(a);
	return s->config->addr.kind == ADDR_NAME ? s->config->addr.port : 0;
}

/* How long the server has been in its state, in seconds. */
static uint64_t seconds_in_state(const struct admin_call *c, const struct server *s)
{
	const int64_t since_ns = s->changed_ns != 0 ? s->changed_ns : c->ctx->started_ns;

	return (uint64_t)((clock_mono_ns() - since_ns) / NS_PER_SEC);
}

/* As HAProxy: a server that is not checked is as healthy as a check would find it, and none is in
 * maintenance. */
static unsigned check_health(const struct backend *b, const struct server *s, const struct probe_view *v)
{
	if (atomic_load_explicit(&s->state, memory_order_relaxed) == SERVER_MAINT)
		return 0;
	return v != NULL ? v->health : b->config->check.rise;
}

static void fill_cells(const struct admin_call *c, const struct backend *b, const struct server *s,
		       struct state_cell cells[static STATE_COLUMNS])
{
	const struct probe_view *v = s->probe;

	for (size_t i = 0; i < STATE_COLUMNS; i++)
		cells[i] = state_columns[i].nothing;
	cells[STATE_be_id].number = b->iid;
	cells[STATE_be_name].text = b->config->name;
	cells[STATE_srv_id].number = s->id;
	cells[STATE_srv_name].text = s->config->name;
	cells[STATE_srv_op_state].number = op_state(s);
	cells[STATE_srv_admin_state].number = admin_mask(s);
	cells[STATE_srv_uweight].number = server_weight_now(s);
	cells[STATE_srv_iweight].number = s->config->weight;
	cells[STATE_srv_time_since_last_change].number = seconds_in_state(c, s);
	cells[STATE_srv_check_status].number = probe_status(v);
	cells[STATE_srv_check_result].number = probe_verdict(v);
	cells[STATE_srv_check_health].number = check_health(b, s, v);
	cells[STATE_srv_check_state].number = probe_state(s, v);
	cells[STATE_srv_agent_state].number = agent_state(s);
	cells[STATE_srv_agent_port].number = s->config->check_agent.port;
	if (s->config->addr.kind == ADDR_NAME)
		cells[STATE_srv_fqdn].text = s->config->addr.host;
	cells[STATE_srv_check_port].number = s->check_port != 0 ? s->check_port : s->config->check_port;
}

static void add_cell(const struct admin_call *c, size_t column, const struct state_cell *cell)
{
	if (c->json != NULL && cell->text != NULL)
		json_string(c->json, state_columns[column].name, cell->text);
	else if (c->json != NULL)
		json_unsigned(c->json, state_columns[column].name, cell->number);
	else if (cell->text != NULL)
		text_printf(c->out, "%s%s", column == 0 ? "" : " ", cell->text);
	else
		text_printf(c->out, "%s%llu", column == 0 ? "" : " ", (unsigned long long)cell->number);
}

static void show_state(const struct admin_call *c, struct backend *b, const struct server *s)
{
	const struct addr *a = server_addr(s);
	struct state_cell cells[STATE_COLUMNS];
	const struct config_agent *agent = &s->config->check_agent;
	char host[INET6_ADDRSTRLEN], check_host[INET6_ADDRSTRLEN], agent_host[INET6_ADDRSTRLEN];

	fill_cells(c, b, s, cells);
	cells[STATE_srv_check_addr].text = host_of(server_check_addr(s, NULL), check_host);
	cells[STATE_srv_agent_addr].text = host_of(agent->addr.len != 0 ? &agent->addr : NULL, agent_host);
	cells[STATE_srv_addr].text = host_of(a, host);
	cells[STATE_srv_port].number = port_of(s, a);
	for (size_t i = 0; i < STATE_COLUMNS; i++)
		add_cell(c, i, &cells[i]);
}

static void show_states(const struct admin_call *c, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (c->json == NULL) {
			show_state(c, b, s);
			text_printf(c->out, "\n");
			continue;
		}
		begin_object(c);
		show_state(c, b, s);
		json_string(c->json, "state",
			    server_state_text((enum server_state)atomic_load_explicit(&s->state,
										      memory_order_relaxed)));
		json_unsigned(c->json, "sessions",
			      (uint64_t)atomic_load_explicit(&s->sessions, memory_order_relaxed));
		json_unsigned(c->json, "maxconn", atomic_load_explicit(&s->limit, memory_order_relaxed));
		add_checksum(c, checksum_of(b));
		json_object_end(c->json);
	}
}

void admin_show_servers_state(const struct admin_call *c)
{
	static const struct listing states = {state_header, "Can't find backend.", show_states};

	list(c, &states);
}

/* ---- show servers history ---- */

/* A state is a word, everything else a number. */
static void show_bounds(const struct admin_call *c, const struct history_change *change)
{
	const bool state = change->what == CHANGE_STATE;
	const char *from = server_state_text((enum server_state)(state ? change->from : 0));
	const char *to = server_state_text((enum server_state)(state ? change->to : 0));

	if (c->json != NULL && state) {
		json_string(c->json, "from", from);
		json_string(c->json, "to", to);
	} else if (c->json != NULL) {
		json_unsigned(c->json, "from", change->from);
		json_unsigned(c->json, "to", change->to);
	} else if (state) {
		text_printf(c->out, "\"%s\" -> \"%s\"", from, to);
	} else {
		text_printf(c->out, "%s %u -> %u", change_word((enum change_what)change->what), change->from,
			    change->to);
	}
}

static void show_change(const struct admin_call *c, const struct server *s,
			const struct history_change *change)
{
	char when[WALL_TIME_MAX];

	(void)wall_time_format_ms(change->wall_ns, when);
	if (c->json == NULL) {
		text_printf(c->out, "%s %s/%s ", when, s->backend->name, s->config->name);
		show_bounds(c, change);
		text_printf(c->out, ": %s\n", change->cause);
		return;
	}
	begin_object(c);
	json_string(c->json, "backend", s->backend->name);
	json_string(c->json, "server", s->config->name);
	json_string(c->json, "time", when);
	json_unsigned(c->json, "age_s", (uint64_t)((clock_mono_ns() - change->at_ns) / NS_PER_SEC));
	json_string(c->json, "what", change_word((enum change_what)change->what));
	show_bounds(c, change);
	json_string(c->json, "cause", change->cause);
	json_object_end(c->json);
}

static void show_server_history(const struct admin_call *c, const struct server *s)
{
	for (size_t i = 0; i < history_size(&s->history); i++)
		show_change(c, s, history_get(&s->history, i));
}

static void show_backend_history(const struct admin_call *c, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		show_server_history(c, b->servers[i]);
}

void admin_show_history(const struct admin_call *c)
{
	static const struct listing histories = {NULL, NULL, show_backend_history};
	const struct server *one;

	if (c->arg_count == 0 || strchr(c->args[0], '/') == NULL) {
		list(c, &histories);
		return;
	}
	one = admin_find_server(c, c->args[0]);
	if (one == NULL)
		return;
	begin_answer(c, NULL);
	show_server_history(c, one);
	end_answer(c);
}
