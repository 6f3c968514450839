/* SPDX-License-Identifier: MIT
 *
 * admin_servers.c - servers as other programs want them: their state, their history, what is hashed.
 *
 * They only read. HAProxy's `show servers state` has its version 1, whose columns never change; as JSON
 * there is more. Main thread.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define TIME_MAX 32

/* HAProxy's numbers (server-t.h, check-t.h of version 2.6). */
enum op_state { OP_STOPPED, OP_STARTING, OP_RUNNING };
enum admin_mask { ADMIN_MAINT = 1, ADMIN_CONFIGURED_MAINT = 4, ADMIN_DRAIN = 8, ADMIN_UNRESOLVED = 32 };
enum check_verdict { VERDICT_UNKNOWN = 0, VERDICT_FAILED = 2, VERDICT_PASSED = 3 };
enum check_state { CHECK_RUNNING = 1, CHECK_CONFIGURED = 2, CHECK_ENABLED = 4, CHECK_PAUSED = 8 };

static uint64_t checksum_of(struct backend *b)
{
	struct roster *r = backend_roster(b);
	const uint64_t checksum = r->checksum;

	roster_unref(r);
	return checksum;
}

static size_t backend_place(const struct engine *e, const struct backend *b)
{
	return (size_t)(b - e->backends);
}

/* Calls `show` for the backend that is asked for, or for each. */
static void for_backends(const struct admin_call *c,
			 void (*show)(const struct admin_call *c, struct backend *b))
{
	struct engine *e = c->ctx->engine;
	struct backend *one;

	if (c->arg_count > 0) {
		one = admin_find_backend(c, c->args[0]);
		if (one != NULL)
			show(c, one);
		return;
	}
	for (size_t i = 0; i < e->config->backend_count; i++)
		show(c, &e->backends[i]);
}

/* ---- JSON ---- */

/* Before each object of an array; `begin` is where the answer was when it began. */
static void begin_object(const struct admin_call *c)
{
	const size_t len = c->out->len;

	text_printf(c->out, len > 0 && c->out->bytes[len - 1] == '}' ? ",\n  {" : "[\n  {");
}

static void end_array(const struct admin_call *c, size_t begin)
{
	if (c->out->len == begin)
		text_printf(c->out, "[]\n");
	else if (c->out->bytes[c->out->len - 1] == '}') /* else it is a refusal */
		text_printf(c->out, "\n]\n");
}

static void add_text(const struct admin_call *c, const char *sign, const char *name, const char *value)
{
	text_printf(c->out, "%s\"%s\":", sign, name);
	admin_json_string(value, strlen(value), c->out);
}

static void add_number(const struct admin_call *c, const char *name, uint64_t value)
{
	text_printf(c->out, ",\"%s\":%llu", name, (unsigned long long)value);
}

/* ---- show backend, show hash ---- */

static void show_name(const struct admin_call *c, struct backend *b)
{
	if (!c->json) {
		text_printf(c->out, "%s\n", b->config->name);
		return;
	}
	begin_object(c);
	add_text(c, "", "name", b->config->name);
	text_printf(c->out, "}");
}

void admin_show_backend(const struct admin_call *c)
{
	const size_t begin = c->out->len;

	if (!c->json)
		text_printf(c->out, "# name\n");
	for_backends(c, show_name);
	if (c->json)
		end_array(c, begin);
}

const char *admin_algorithm(const struct backend *b)
{
	static const char *const words[] = {
		[CONFIG_BALANCE_ROUNDROBIN] = "roundrobin", [CONFIG_BALANCE_LEASTCONN] = "leastconn",
		[CONFIG_BALANCE_RANDOM] = "random",	    [CONFIG_BALANCE_FIRST] = "first",
		[CONFIG_BALANCE_SOURCE] = "source",	    [CONFIG_BALANCE_MAGLEV] = "maglev",
	};

	return words[b->config->balance.algorithm];
}

static void show_hash(const struct admin_call *c, struct backend *b)
{
	const struct config_balancing *how = &b->config->balance;
	const char *hash = how->hash == CONFIG_HASH_CONSISTENT ? "consistent" : "modulo";
	const char *key = how->hash_key == CONFIG_HASH_KEY_ADDRESS ? "address" : "name";
	struct roster *r = backend_roster(b);

	if (c->json) {
		begin_object(c);
		add_text(c, "", "backend", b->config->name);
		add_text(c, ",", "algorithm", admin_algorithm(b));
		if (how->algorithm == CONFIG_BALANCE_SOURCE)
			add_text(c, ",", "hash", hash);
		add_text(c, ",", "key", key);
		add_number(c, "servers", r->count);
		text_printf(c->out, ",\"checksum\":\"%016llx\"}", (unsigned long long)r->checksum);
	} else {
		text_printf(c->out, "%s algorithm=%s%s%s key=%s servers=%zu checksum=%016llx\n",
			    b->config->name, admin_algorithm(b),
			    how->algorithm == CONFIG_BALANCE_SOURCE ? " hash=" : "",
			    how->algorithm == CONFIG_BALANCE_SOURCE ? hash : "", key, r->count,
			    (unsigned long long)r->checksum);
	}
	roster_unref(r);
}

void admin_show_hash(const struct admin_call *c)
{
	const size_t begin = c->out->len;

	for_backends(c, show_hash);
	if (c->json)
		end_array(c, begin);
}

/* ---- show servers state ---- */

/* What HAProxy has a number or a word for, in the order of its columns; a text goes before a number. */
struct state_cell {
	const char *name;
	const char *text;
	uint64_t number;
};

static unsigned op_state(const struct server *s)
{
	switch ((enum server_state)atomic_load_explicit(&s->state, memory_order_relaxed)) {
	case SERVER_UP:
	case SERVER_DRAIN:
		return s->slow_since_ns != 0 ? OP_STARTING : OP_RUNNING;
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

	if (s->admin == SERVER_ADMIN_MAINT)
		mask |= ADMIN_MAINT;
	if (s->admin == SERVER_ADMIN_MAINT && s->config->disabled && s->changed_ns == 0)
		mask |= ADMIN_CONFIGURED_MAINT;
	if (s->admin == SERVER_ADMIN_DRAIN)
		mask |= ADMIN_DRAIN;
	if (atomic_load_explicit(&s->addr, memory_order_relaxed) == NULL)
		mask |= ADMIN_UNRESOLVED;
	return mask;
}

static unsigned check_status(const struct check_view *v)
{
	/* HAProxy says "initializing" of a server that is not checked. */
	return check_code_number(v != NULL ? v->code : CHECK_INI);
}

static unsigned check_verdict(const struct check_view *v)
{
	switch (v != NULL ? check_code_outcome(v->code) : CHECK_UNKNOWN) {
	case CHECK_UNKNOWN:
		break;
	case CHECK_PASSED:
		return VERDICT_PASSED;
	case CHECK_FAILED:
		return VERDICT_FAILED;
	}
	return VERDICT_UNKNOWN;
}

static unsigned check_state(const struct server *s, const struct check_view *v)
{
	if (v == NULL)
		return 0;
	return CHECK_CONFIGURED | CHECK_ENABLED | (v->running ? CHECK_RUNNING : 0u) |
	       (s->admin == SERVER_ADMIN_MAINT ? CHECK_PAUSED : 0u);
}

/* The address without its port; "-" when there is none, and for Unix sockets, as in HAProxy. */
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

/* How long the state has been what it is, in seconds. */
static uint64_t seconds_in_state(const struct admin_call *c, const struct server *s)
{
	const int64_t since_ns = s->changed_ns != 0 ? s->changed_ns : c->ctx->started_ns;

	return (uint64_t)((clock_mono_ns() - since_ns) / NS_PER_SEC);
}

static void add_cells(const struct admin_call *c, const struct state_cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct state_cell *cell = &cells[i];

		if (c->json && cell->text != NULL)
			add_text(c, i == 0 ? "" : ",", cell->name, cell->text);
		else if (c->json)
			text_printf(c->out, "%s\"%s\":%llu", i == 0 ? "" : ",", cell->name,
				    (unsigned long long)cell->number);
		else if (cell->text != NULL)
			text_printf(c->out, "%s%s", i == 0 ? "" : " ", cell->text);
		else
			text_printf(c->out, "%s%llu", i == 0 ? "" : " ", (unsigned long long)cell->number);
	}
}

static void show_state(const struct admin_call *c, struct backend *b, const struct server *s)
{
	const struct check_view *v = s->check;
	const struct addr *a = atomic_load_explicit(&s->addr, memory_order_acquire);
	const bool named = s->config->addr.kind == ADDR_NAME;
	char host[INET6_ADDRSTRLEN];
	const struct state_cell cells[] = {
		{"be_id", NULL, admin_backend_iid(c->ctx->engine->config, backend_place(c->ctx->engine, b))},
		{"be_name", b->config->name, 0},
		{"srv_id", NULL, s->index + 1},
		{"srv_name", s->config->name, 0},
		{"srv_addr", host_of(a, host), 0},
		{"srv_op_state", NULL, op_state(s)},
		{"srv_admin_state", NULL, admin_mask(s)},
		{"srv_uweight", NULL, s->weight},
		{"srv_iweight", NULL, s->config->weight},
		{"srv_time_since_last_change", NULL, seconds_in_state(c, s)},
		{"srv_check_status", NULL, check_status(v)},
		{"srv_check_result", NULL, check_verdict(v)},
		{"srv_check_health", NULL, v != NULL ? v->health : b->config->check.rise}, /* as HAProxy */
		{"srv_check_state", NULL, check_state(s, v)},
		{"srv_agent_state", NULL, 0},
		{"bk_f_forced_id", NULL, 0},
		{"srv_f_forced_id", NULL, 0},
		{"srv_fqdn", named ? s->config->addr.host : "-", 0},
		{"srv_port", NULL, port_of(s, a)},
		{"srvrecord", "-", 0},
		{"srv_use_ssl", NULL, 0},
		{"srv_check_port", NULL, s->config->check_port},
		{"srv_check_addr", "-", 0},
		{"srv_agent_addr", "-", 0},
		{"srv_agent_port", NULL, 0},
	};

	add_cells(c, cells, ARRAY_LEN(cells));
}

static void show_states(const struct admin_call *c, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];

		if (c->json)
			begin_object(c);
		show_state(c, b, s);
		if (!c->json) {
			text_printf(c->out, "\n");
			continue;
		}
		add_text(c, ",", "state",
			 server_state_text((enum server_state)atomic_load_explicit(&s->state,
										   memory_order_relaxed)));
		add_number(c, "sessions", (uint64_t)atomic_load_explicit(&s->sessions, memory_order_relaxed));
		add_number(c, "maxconn", atomic_load_explicit(&s->limit, memory_order_relaxed));
		text_printf(c->out, ",\"checksum\":\"%016llx\"}", (unsigned long long)checksum_of(b));
	}
}

void admin_show_servers_state(const struct admin_call *c)
{
	static const char header[] =
		"1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight "
		"srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health "
		"srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord "
		"srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n";
	const size_t begin = c->out->len;

	if (c->arg_count > 0 && admin_find_backend(c, c->args[0]) == NULL)
		return;
	if (!c->json)
		text_add(c->out, header, sizeof(header) - 1);
	for_backends(c, show_states);
	if (c->json)
		end_array(c, begin);
}

/* ---- show servers history ---- */

/* "2026-07-20T12:00:00.123Z" */
static void format_time(int64_t wall_ns, char out[static TIME_MAX])
{
	const time_t at = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;
	size_t len;

	if (gmtime_r(&at, &tm) == NULL || (len = strftime(out, TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm)) == 0)
		memcpy(out, "-", 2);
	else
		(void)snprintf(out + len, TIME_MAX - len, ".%03dZ",
			       (int)(wall_ns % NS_PER_SEC / NS_PER_MS)); /* TIME_MAX has room for it */
}

/* A state is a word, everything else a number. */
static void show_bounds(const struct admin_call *c, const struct history_change *change)
{
	const bool state = change->what == CHANGE_STATE;
	const char *from = server_state_text((enum server_state)(state ? change->from : 0));
	const char *to = server_state_text((enum server_state)(state ? change->to : 0));

	if (c->json && state) {
		add_text(c, ",", "from", from);
		add_text(c, ",", "to", to);
	} else if (c->json) {
		add_number(c, "from", change->from);
		add_number(c, "to", change->to);
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
	char when[TIME_MAX];

	format_time(change->wall_ns, when);
	if (!c->json) {
		text_printf(c->out, "%s %s/%s ", when, s->backend->name, s->config->name);
		show_bounds(c, change);
		text_printf(c->out, ": %s\n", change->cause);
		return;
	}
	begin_object(c);
	add_text(c, "", "backend", s->backend->name);
	add_text(c, ",", "server", s->config->name);
	add_text(c, ",", "time", when);
	add_number(c, "age_s", (uint64_t)((clock_mono_ns() - change->at_ns) / NS_PER_SEC));
	add_text(c, ",", "what", change_word((enum change_what)change->what));
	show_bounds(c, change);
	add_text(c, ",", "cause", change->cause);
	text_printf(c->out, "}");
}

static void show_server_history(const struct admin_call *c, const struct server *s)
{
	for (size_t i = 0; i < history_size(&s->history); i++)
		show_change(c, s, history_get(&s->history, i));
}

static void show_backend_history(const struct admin_call *c, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		show_server_history(c, &b->servers[i]);
}

void admin_show_history(const struct admin_call *c)
{
	const size_t begin = c->out->len;
	const struct server *one;

	if (c->arg_count > 0 && strchr(c->args[0], '/') != NULL) {
		one = admin_find_server(c, c->args[0]);
		if (one == NULL)
			return;
		show_server_history(c, one);
	} else {
		for_backends(c, show_backend_history);
	}
	if (c->json)
		end_array(c, begin);
}
