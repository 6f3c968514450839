/* SPDX-License-Identifier: MIT
 *
 * server.c - a server { } of stream becomes a [listen], or a [frontend] with backends.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "variable.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

/* ---- the server's side ---- */

static void add_side(struct nginx_sides *sides, const char *key, const char *value, struct old_line *from)
{
	if (sides->count < ARRAY_LEN(sides->list))
		sides->list[sides->count++] = (struct nginx_side){key, value, from};
}

/* Is there a limit that has a number? */
static bool has_rate(const struct serving *v, const char *name)
{
	const struct old_line *line = serving_find(v, name);

	return line != NULL && is_digit(old_word(line, 1)[0]) && strcmp(old_word(line, 1), "0") != 0;
}

/* A block may have a resolver of its own. */
static void add_resolving(struct serving *v, struct nginx_sides *sides)
{
	struct old_line *line = serving_find(v, "resolver");
	const char *family = nginx_resolve_family(line);
	const char *interval = nginx_resolve_interval(v->n->arena, line);

	sides->resolver = line != NULL;
	if (family != NULL)
		add_side(sides, "resolve-family", family, line);
	if (interval != NULL)
		add_side(sides, "resolve-interval", interval, line);
}

/* May small segments wait for more? */
static bool delays(const struct serving *v)
{
	const struct old_line *line = serving_find(v, "tcp_nodelay");

	return line != NULL && strcmp(old_word(line, 1), "off") == 0;
}

static void read_sides(struct serving *v, struct nginx_sides *sides)
{
	struct old_line *bind = serving_find(v, "proxy_bind"), *check_line = serving_find(v, "health_check");
	struct old_line *tries = serving_find(v, "proxy_next_upstream_tries");
	struct old_line *next = serving_find(v, "proxy_next_upstream");

	*sides = (struct nginx_sides){.proxy = v->proxy};
	add_side(sides, "timeout-connect", serving_time(v, "proxy_connect_timeout", "60s"),
		 serving_find(v, "proxy_connect_timeout"));
	add_side(sides, "timeout-server", serving_time(v, "proxy_timeout", "10m"),
		 serving_find(v, "proxy_timeout"));
	if (serving_is_on(serving_find(v, "proxy_protocol")))
		add_side(sides, "send-proxy", "v1", serving_find(v, "proxy_protocol"));
	if (serving_is_on(serving_find(v, "proxy_protocol")) && nginx_takes_both_families(v->block))
		work_note(v->n->work,
			  "at '[::]' with ipv6only=off, nginx sends a client of IPv4 as TCP6 ::ffff:ADDRESS "
			  "in the PROXY header: weir as TCP4");
	if (delays(v))
		add_side(sides, "tcp-nodelay", "off", serving_find(v, "tcp_nodelay"));
	if (serving_is_on(serving_find(v, "proxy_socket_keepalive")))
		add_side(sides, "server-keepalive", "on", serving_find(v, "proxy_socket_keepalive"));
	if (serving_is_on(serving_find(v, "proxy_session_drop")))
		add_side(sides, "on-marked-down", "close-sessions", serving_find(v, "proxy_session_drop"));
	if (bind != NULL && strcmp(old_word(bind, 1), "off") != 0)
		sides->source = nginx_source(v->n, bind, v->block, v->proxy);
	if (has_rate(v, "proxy_upload_rate"))
		add_side(sides, "pacing", old_word(serving_find(v, "proxy_upload_rate"), 1),
			 serving_find(v, "proxy_upload_rate"));
	add_resolving(v, sides);
	if (check_line != NULL)
		nginx_health_check(v->n, check_line, serving_find(v, "health_check_timeout"), sides);
	if (next != NULL) {
		sides->one_try = strcmp(old_word(next, 1), "off") == 0;
		sides->tries_from = next;
		old_set(v->n->arena, next, OLD_CARRIED, NULL);
	}
	if (tries != NULL) {
		sides->tries = (unsigned)strtoul(old_word(tries, 1), NULL, 10);
		sides->tries_from = tries;
	}
}

/* How many server blocks pass to this target. */
static unsigned users_of(const struct nginx *n, const char *target)
{
	const struct nginx_users *users = index_find(&n->users, work_lower_case(n->arena, target));

	return users != NULL ? users->count : 0;
}

static const char *section_name(struct serving *v, bool is_listen)
{
	const char *port = NULL, *digits;

	if (is_listen && nginx_block(v->n, "upstream", v->target) != NULL)
		return nginx_name(v->n, v->target);
	for (size_t i = 0; i < v->block->inside.count && port == NULL; i++)
		if (strcmp(v->block->inside.list[i]->words[0], "listen") == 0)
			port = old_word(v->block->inside.list[i], 1);
	digits = port != NULL && strrchr(port, ':') != NULL ? strrchr(port, ':') + 1 : port;
	/* An upstream keeps its name. */
	if (v->target[0] == '$' && v->target[1] != '\0' && strchr(v->target, ':') == NULL &&
	    nginx_block(v->n, "upstream", v->target + 1) == NULL)
		return nginx_name(v->n, v->target + 1);
	if (digits != NULL && is_digit(digits[0]))
		return nginx_name(v->n, arena_printf(v->n->arena, "port-%s", digits));
	return nginx_name(v->n, digits != NULL ? digits : "stream");
}

/* Has the target variables that a map makes, or that weir does not know? */
static bool passes_by_map(const struct serving *v)
{
	const char *rest = v->target;

	if (nginx_has_map(v->n, rest))
		return true;
	if (strncmp(rest, "$ssl_preread_server_name", 24) == 0)
		rest += 24;
	rest = strchr(rest, '$');
	if (rest != NULL && nginx_find_split(v->n, rest) != NULL)
		return false;
	return rest != NULL &&
	       (strcmp(rest, "$server_port") != 0 || rest == v->target || rest[-1] != ':');
}

static bool is_one_of(const char *const *words, size_t count, const struct old_line *line)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(line->words[0], words[i]) == 0)
			return true;
	return false;
}

/* Is there a single server, with one address? */
static bool has_one_address(const struct serving *v)
{
	const struct old_line *upstream = nginx_block(v->n, "upstream", v->target);
	const char *address = v->target;
	size_t count = 0;

	for (size_t i = 0; upstream != NULL && i < upstream->inside.count; i++)
		if (strcmp(upstream->inside.list[i]->words[0], "server") == 0) {
			address = old_word(upstream->inside.list[i], 1);
			count++;
		}
	return count < 2 && (is_digit(address[0]) || address[0] == '[' || strncmp(address, "unix:", 5) == 0);
}

/* A limit on all attempts together: weir has a number of attempts, and a time for each. nginx ends none that
 * has begun, so that the limit is for servers that do not answer. */
static void take_total_time(struct serving *v)
{
	struct old_line *total = serving_find(v, "proxy_next_upstream_timeout");
	const struct old_line *tries = serving_find(v, "proxy_next_upstream_tries");
	const struct old_line *connect = serving_find(v, "proxy_connect_timeout");
	const long long each = connect != NULL ? nginx_milliseconds(old_word(connect, 1)) : 60000;
	const long long count = tries != NULL ? strtol(old_word(tries, 1), NULL, 10) : 0;
	const long long limit = total != NULL ? nginx_milliseconds(old_word(total, 1)) : 0;

	if (limit <= 0)
		return;
	if (has_one_address(v))
		old_set(v->n->arena, total, OLD_NO_EFFECT,
			"there is no other server to pass a client on to");
	else if (each > 0 && count > 0 && count < 1000 && limit >= each * count)
		old_set(v->n->arena, total, OLD_NO_EFFECT, "the attempts cannot take longer");
	else
		old_set(v->n->arena, total, OLD_DIFFERENT,
			"weir has no limit on the time of all attempts: where servers do not answer, each of "
			"'retries' takes timeout-connect");
}

/* A time of 0 is over at once for nginx, and never for weir. */
static void judge_time(struct serving *v, struct old_line *line)
{
	const long long time = nginx_milliseconds(old_word(line, 1));
	const bool is_used = serving_find(v, line->words[0]) == line &&
			     (v->proxy || strcmp(line->words[0], "proxy_protocol_timeout") != 0) &&
			     (serving_is_on(serving_find(v, "ssl_preread")) ||
			      strcmp(line->words[0], "preread_timeout") != 0);

	if (time < 0)
		old_set(v->n->arena, line, OLD_LOST, "'%s' is not a time", old_word(line, 1));
	else if (time == 0 && is_used)
		old_set(v->n->arena, line, OLD_DIFFERENT,
			"with 0, nginx ends its clients at once: weir has no limit");
}

/* Marks the lines, of the block or of stream, whose value is in lines of the section without being their
 * source, and those that say what is so anyway. */
static void finish_lines(struct serving *v, const struct old_lines *lines)
{
	static const char *const carried[] = {
	    "listen",	   "proxy_pass",      "proxy_timeout", "proxy_connect_timeout",
	    "ssl_preread", "preread_timeout"};
	static const char *const times[] = {"proxy_timeout", "proxy_connect_timeout", "preread_timeout",
					    "proxy_protocol_timeout"};
	static const char *const switches[] = {"proxy_protocol", "proxy_socket_keepalive", "proxy_bind",
					       "proxy_next_upstream_timeout", "proxy_session_drop"};
	static const char *const rates[] = {"proxy_upload_rate", "proxy_download_rate"};
	const bool own = lines != &v->n->loose;

	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];
		const char *value = old_word(line, 1);

		if (is_one_of(rates, ARRAY_LEN(rates), line) && strchr(value, '$') != NULL &&
		    serving_find(v, line->words[0]) == line)
			old_set(v->n->arena, line, OLD_LOST,
				"weir has one rate for all clients of a section: pacing");
		if (is_one_of(times, ARRAY_LEN(times), line))
			judge_time(v, line);
		if (line->fate != OLD_OPEN || line->block)
			continue;
		if (is_one_of(carried, ARRAY_LEN(carried), line) &&
		    (own || serving_find(v, line->words[0]) == line))
			old_set(v->n->arena, line, OLD_CARRIED, NULL);
		else if (is_one_of(switches, ARRAY_LEN(switches), line) &&
			 (strcmp(value, "off") == 0 || strcmp(value, "0") == 0))
			old_set(v->n->arena, line, OLD_NO_EFFECT, "it is off");
		else if (own && strncmp(line->words[0], "proxy_ssl", 9) == 0)
			old_set(v->n->arena, line, OLD_NO_EFFECT, "proxy_ssl is not on");
		else if (own && !v->proxy && strcmp(line->words[0], "proxy_protocol_timeout") == 0)
			old_set(v->n->arena, line, OLD_NO_EFFECT,
				"no listen of the block has proxy_protocol");
	}
}

/* Marks what the sections have no line for. */
static void finish(struct serving *v)
{
	const struct old_lines *lines = &v->block->inside;

	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (strcmp(line->words[0], "access_log") == 0 || strcmp(line->words[0], "error_log") == 0)
			nginx_block_log(v->n, line);
		else if (line->fate == OLD_OPEN && strcmp(line->words[0], "server_name") == 0)
			old_set(v->n->arena, line, OLD_NO_EFFECT,
				"the clients that ask for no name of another server block come here");
		else if (line->fate == OLD_OPEN && strcmp(line->words[0], "set") == 0)
			old_set(v->n->arena, line, OLD_NO_EFFECT,
				"the target of proxy_pass has no use for it");
	}
	take_total_time(v);
	finish_lines(v, lines);
	finish_lines(v, &v->n->loose);
}

static void leave_out(struct serving *v)
{
	v->s->left_out = true;
	old_set(v->n->arena, v->block, OLD_LOST, "it has no server that is converted");
}

static const char no_pass[] = "no proxy_pass: weir forwards and does not answer";

/* Why a server block is not ours; NULL: it is. */
static const char *not_ours(const struct serving *v)
{
	size_t ours = 0, listens = 0;

	for (size_t i = 0; i < v->block->inside.count; i++) {
		const struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "listen") != 0)
			continue;
		listens++;
		ours += !old_has_word(line, 2, "udp") && !old_has_word(line, 2, "ssl");
	}
	if (listens > 0 && ours == 0)
		return "weir neither forwards UDP nor terminates TLS";
	if (serving_is_on(serving_find(v, "proxy_ssl")))
		return "weir does not speak TLS to servers, it passes it through";
	return v->pass == NULL ? no_pass : NULL;
}

/* The address is the name that clients ask for, which nginx does not know without ssl_preread. */
static void judge_name(struct serving *v)
{
	if (strncmp(v->target, "$ssl_preread_server_name", 24) == 0 &&
	    !serving_is_on(serving_find(v, "ssl_preread")))
		old_set(v->n->arena, v->pass, OLD_DIFFERENT,
			"without 'ssl_preread on', nginx has no name and closes all clients: weir passes "
			"them on by the name");
}

static void add_target(struct serving *v, bool is_listen, const struct nginx_sides *sides)
{
	const struct nginx_passing passing = {.s = v->s,
					      .block = v->block,
					      .pass = v->pass,
					      .target = v->target,
					      .names = "",
					      .timeout = serving_time(v, "preread_timeout", "30s"),
					      .sides = sides};
	const char *name;

	if (serving_is_on(serving_find(v, "ssl_preread")) &&
	    strncmp(v->target, "$ssl_preread_server_name", 24) != 0)
		work_note(v->n->work,
			  "with ssl_preread, nginx ends a client that sends nothing, or a part of a hello, "
			  "within preread_timeout: weir passes it on, to default-backend");
	if (passes_by_map(v) || v->shared) {
		if (!nginx_routes(v->n, &passing))
			leave_out(v);
		return;
	}
	if (strncmp(v->target, "$ssl_preread_server_name", 24) == 0)
		ini_add(v->n->ini, v->s, serving_find(v, "ssl_preread"), "sniff", "tls timeout=%s required",
			passing.timeout);
	if (is_listen) {
		if (!nginx_servers(v->n, v->s, v->pass, v->target, sides))
			leave_out(v);
		return;
	}
	name = nginx_backend(v->n, v->pass, v->target, sides);
	if (name == NULL)
		leave_out(v);
	else
		ini_add(v->n->ini, v->s, v->pass, "default-backend", "%s", name);
}

/* Does no other server block, and no map, pass to the target? */
static bool has_target_alone(const struct serving *v)
{
	const bool is_said = strcmp(v->target, old_word(v->pass, 1)) == 0;

	return !passes_by_map(v) && users_of(v->n, v->target) == (is_said ? 1 : 0);
}

/* The comments of an upstream are those of the section that it becomes. */
static void take_comments(struct serving *v)
{
	const struct old_line *upstream = nginx_block(v->n, "upstream", v->target);

	if (v->s->above_count > 0 || upstream == NULL)
		return;
	v->s->above = upstream->above;
	v->s->above_count = upstream->above_count;
}

/* A block that answers its clients, or refuses them: they are refused. */
static void take_answer(struct serving *v)
{
	struct old_line *answer = nginx_find(&v->block->inside, NULL, "return");

	if (answer == NULL) {
		nginx_mark(v->n, v->block, OLD_NOT_OURS,
			   "no proxy_pass: weir forwards and does not answer; its clients are refused");
		return;
	}
	old_set(v->n->arena, v->block, OLD_CARRIED, NULL);
	if (old_word(answer, 1)[0] == '\0')
		old_set(v->n->arena, answer, OLD_CARRIED, NULL);
	else
		old_set(v->n->arena, answer, OLD_DIFFERENT,
			"nginx sends this before it closes the connection: weir closes it at once");
	finish(v);
}

void nginx_member(const struct serving *v, struct old_line *block, const char *names)
{
	struct serving m = {.n = v->n,
			    .block = block,
			    .s = v->s,
			    .pass = nginx_find(&block->inside, NULL, "proxy_pass"),
			    .proxy = v->proxy};
	const char *why = not_ours(&m);
	struct nginx_passing passing = {
	    .s = v->s, .block = block, .pass = m.pass, .names = names};
	struct nginx_sides sides;

	passing.timeout = serving_time(v, "preread_timeout", "30s");
	if (why != NULL) {
		nginx_refuse(v->n, &passing);
		if (why == no_pass)
			take_answer(&m);
		else
			nginx_mark(v->n, block, OLD_LOST, why);
		return;
	}
	old_set(v->n->arena, block, OLD_CARRIED, NULL);
	m.target = nginx_fold(v->n, block, old_word(m.pass, 1));
	read_sides(&m, &sides);
	passing.target = m.target;
	passing.sides = &sides;
	(void)nginx_routes(v->n, &passing); /* has said why at the line */
	if (strcmp(serving_time(v, "proxy_timeout", ""), serving_time(&m, "proxy_timeout", "")) != 0 &&
	    serving_find(&m, "proxy_timeout") != NULL)
		old_set(v->n->arena, serving_find(&m, "proxy_timeout"), OLD_DIFFERENT,
			"timeout-client is that of the default server block of the address");
	finish(&m);
}

/* The section of a block; `is_listen`: its servers are in the same. */
static void add_section(struct serving *v, bool is_listen)
{
	v->s = ini_section(v->n->ini, is_listen ? IN_LISTEN : IN_FRONTEND, section_name(v, is_listen),
			   v->block);
	if (is_listen)
		take_comments(v);
	serving_add_binds(v);
	serving_add_access(v);
	serving_add_limits(v);
	if (has_rate(v, "proxy_download_rate"))
		ini_add(v->n->ini, v->s, serving_find(v, "proxy_download_rate"), "pacing", "%s",
			old_word(serving_find(v, "proxy_download_rate"), 1));
	if (delays(v) && !is_listen)
		ini_add(v->n->ini, v->s, serving_find(v, "tcp_nodelay"), "tcp-nodelay", "off");
	ini_add(v->n->ini, v->s, NULL, "timeout-client", "%s", serving_time(v, "proxy_timeout", "10m"));
	if (serving_is_on(serving_find(v, "proxy_half_close")))
		ini_add(v->n->ini, v->s, serving_find(v, "proxy_half_close"), "timeout-half-closed", "%s",
			serving_time(v, "proxy_timeout", "10m"));
}

/* The default block of an address answers or refuses; others there may pass clients on. */
static void take_refusing_default(struct serving *v)
{
	v->target = "";
	v->shared = true;
	if (!serving_is_on(serving_find(v, "ssl_preread"))) {
		nginx_mark(v->n, v->block, OLD_NOT_OURS, no_pass);
		nginx_add_members(v);
		return;
	}
	v->n->served++;
	add_section(v, false);
	nginx_add_members(v);
	take_answer(v);
}

/* A file that is missing in a block that is not ours for another reason would not be ours either. */
static void disown(struct serving *v, const char *why)
{
	for (size_t i = 0; i < v->block->inside.count && why != no_pass; i++) {
		struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "include") == 0)
			line->fate = OLD_OPEN;
	}
	nginx_mark(v->n, v->block, OLD_NOT_OURS, why);
}

void nginx_server(struct nginx *n, struct old_line *block)
{
	struct serving v = {
	    .n = n, .block = block, .pass = nginx_find(&block->inside, NULL, "proxy_pass")};
	const char *why = not_ours(&v);
	const bool refuses = why == no_pass && nginx_shares_with_proxy(n, block);
	struct nginx_sides sides;
	bool is_listen;

	if (why != NULL && !refuses) {
		disown(&v, why);
		return;
	}
	if (nginx_default_of(n, block) != block)
		return;
	if (refuses) {
		take_refusing_default(&v);
		return;
	}
	n->served++;
	old_set(n->arena, block, OLD_CARRIED, NULL);
	v.target = nginx_fold(n, block, old_word(v.pass, 1));
	v.shared = nginx_is_shared(n, block);
	is_listen = !v.shared && has_target_alone(&v) && !has_rate(&v, "proxy_upload_rate") &&
		    !has_rate(&v, "proxy_download_rate");
	add_section(&v, is_listen);
	judge_name(&v);
	read_sides(&v, &sides);
	if (v.shared)
		nginx_add_members(&v);
	add_target(&v, is_listen, &sides);
	finish(&v);
}
