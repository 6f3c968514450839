/* SPDX-License-Identifier: MIT
 *
 * test_admission.c - who is let in and where it goes, for sessions without any network.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/engine/source_wait.h"
#include "weir/net/source_table.h"
#include "engine/admission.h"
#include "engine/destination.h"
#include "engine/extra.h"
#include "engine/session.h"
#include "engine/session_end.h"
#include "engine/source_leave.h"
#include "engine/worker.h"
#include "small_engine.h"

#define BACKENDS 4u
#define BOUND_PORT 8080
/* Reserved for the sessions of a test: more than it has. */
#define SLOTS 8

/* One frontend, one bind, some backends; each test fills in what it is about. */
struct rig {
	struct config config;
	struct config_frontend frontend;
	struct config_bind bind;
	struct config_backend backends[BACKENDS];
	struct config_server servers[BACKENDS];
	struct config_route routes[4];
	struct engine engine;
	struct worker *worker;
	struct frontend *fe;
	struct endpoint *endpoint;
};

static void no_news(void *arg)
{
	(void)arg;
}

static void set_ip4(struct addr *a, const char *ip, uint16_t port)
{
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	a->len = sizeof(a->in);
	assert_int_equal(inet_pton(AF_INET, ip, &a->in.sin_addr), 1);
}

static void set_unix(struct addr *a)
{
	memset(a, 0, sizeof(*a));
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, "/run/a.sock", sizeof("/run/a.sock"));
	a->len = sizeof(a->un);
}

static int open_rig(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->config.frontends = &r->frontend;
	r->config.frontend_count = 1;
	r->config.backends = r->backends;
	r->config.backend_count = BACKENDS;
	r->frontend.binds = &r->bind;
	r->frontend.bind_count = 1;
	r->frontend.routes = r->routes;
	r->bind.addr.kind = ADDR_IP;
	set_ip4(&r->bind.addr.addr, "0.0.0.0", BOUND_PORT);
	for (unsigned i = 0; i < BACKENDS; i++) {
		r->backends[i].servers = &r->servers[i];
		r->backends[i].server_count = 1;
		r->servers[i].name[0] = 'a';
		r->servers[i].weight = 1;
		r->servers[i].addr.kind = ADDR_IP;
		set_ip4(&r->servers[i].addr.addr, "127.0.0.1", 80);
	}
	*state = r;
	return 0;
}

static void start(struct rig *r)
{
	small_engine_open(&r->engine, &r->config, 1, no_news);
	small_engine_stand_in(&r->engine);
	r->worker = small_engine_worker(&r->engine, 0);
	r->fe = first_frontend(&r->engine);
	r->endpoint = first_endpoint(&r->engine);
	atomic_store(&r->engine.sessions, SLOTS);
	atomic_store(&r->fe->sessions, SLOTS);
}

static int close_rig(void **state)
{
	struct rig *r = *state;

	if (r->worker != NULL) {
		atomic_store(&r->fe->sessions, 0);
		assert_true(small_engine_is_unused(&r->engine));
		engine_free(&r->engine);
	}
	netset_free(r->frontend.allow);
	netset_free(r->frontend.deny);
	free(r->frontend.allow_list.list);
	free(r->frontend.deny_list.list);
	netset_free(r->frontend.exempt);
	free(r->frontend.exempt_list.list);
	for (size_t i = 0; i < r->frontend.route_count; i++) {
		netset_free(r->routes[i].src);
		free(r->routes[i].src_list.list);
	}
	free(r);
	return 0;
}

/* As a configuration has them: the set, and what it was made of. */
static void set_networks(struct netset **set, struct config_networks *from, const char *one, const char *two)
{
	const char *const texts[] = {one, two};
	const char *why;

	from->list = calloc(2, sizeof(*from->list));
	assert_non_null(from->list);
	for (size_t i = 0; i < 2; i++)
		if (texts[i] != NULL)
			assert_int_equal(net_prefix_parse(texts[i], &from->list[from->count++], &why), 0);
	*set = netset_new(from->list, from->count);
	assert_non_null(*set);
}

static void no_timer(struct timer *t)
{
	(void)t;
	fail_msg("no time passes here");
}

/* A session of a client at `ip` ("unix" = of a Unix socket), not admitted yet. */
static struct session *client(struct rig *r, const char *ip)
{
	struct session *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	session_comes_in(s, r->worker, r->endpoint);
	s->sides[SIDE_CLIENT].sock.fd = -1;
	s->sides[SIDE_SERVER].sock.fd = -1;
	s->client.family = AF_UNIX;
	if (strcmp(ip, "unix") != 0) {
		s->client.family = strchr(ip, ':') != NULL ? AF_INET6 : AF_INET;
		assert_int_equal(inet_pton(s->client.family, ip, s->client.ip), 1);
	}
	timer_init(&s->timer, no_timer);
	flow_init(&s->flows[FLOW_TO_SERVER], FLOW_TO_SERVER);
	flow_init(&s->flows[FLOW_TO_CLIENT], FLOW_TO_CLIENT);
	session_set_state(s, SESSION_ACCEPTED);
	list_push_back(&r->worker->live, &s->link);
	return s;
}

static void end(struct session *s)
{
	list_remove(&s->link);
	(void)source_leave(s); /* nobody waits but where a test says so */
	if (s->extra != NULL)
		session_extra_put(s);
	session_goes_away(s);
	free(s);
}

/* The worker looks for sessions that are ending, and then settles who has waited for that. */
static void look(struct worker *w)
{
	source_wait_look(w);
	while (w->look_turns > 0)
		source_wait_turned(w);
	source_wait_take(w, admission_held_no_more);
}

static enum close_reason reason_of(struct session *s)
{
	if (admission_admit(s)) {
		assert_int_equal(s->state, SESSION_ACCEPTED);
		assert_true(admission_choose_backend(s, NULL, 0));
		return CLOSE_NORMAL;
	}
	if (s->state == SESSION_HELD)
		look(s->worker); /* there is no other */
	assert_int_equal(s->state, SESSION_CLOSING);
	assert_int_equal(s->ends[SIDE_CLIENT], SIDE_RESET);
	return (enum close_reason)s->reason;
}

static enum close_reason ask(struct rig *r, const char *ip)
{
	struct session *s = client(r, ip);
	const enum close_reason why = reason_of(s);

	end(s);
	return why;
}

/* Which backend it goes to. */
static unsigned route(struct rig *r, struct session *s)
{
	assert_int_equal(reason_of(s), CLOSE_NORMAL);
	for (unsigned i = 0; i < BACKENDS; i++)
		if (s->back->backend == r->engine.backends[i])
			return i;
	fail_msg("it goes to no backend");
	return BACKENDS;
}

static unsigned route_of(struct rig *r, const char *ip)
{
	struct session *s = client(r, ip);
	const unsigned to = route(r, s);

	end(s);
	return to;
}

static void a_frontend_without_any_of_it_is_not_guarded(void **state)
{
	struct rig *r = *state;

	start(r);
	assert_false(r->fe->settings->guarded);
	assert_int_equal(ask(r, "192.0.2.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "unix"), CLOSE_NORMAL);
}

static void deny_goes_before_allow_and_allow_keeps_out_the_rest(void **state)
{
	struct rig *r = *state;

	set_networks(&r->frontend.allow, &r->frontend.allow_list, "10.0.0.0/8", "2001:db8::/32");
	set_networks(&r->frontend.deny, &r->frontend.deny_list, "10.1.0.0/16", NULL);
	start(r);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.1.0.1"), CLOSE_DENIED);
	assert_int_equal(ask(r, "11.0.0.1"), CLOSE_DENIED);
	assert_int_equal(ask(r, "2001:db8::1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "2001:db9::1"), CLOSE_DENIED);
	assert_int_equal(ask(r, "::ffff:10.1.0.1"), CLOSE_DENIED);
	assert_int_equal(counter_get(&r->worker->counters.denied), 4);
	assert_int_equal(atomic_load(&r->fe->denied), 4);
}

static void deny_alone_lets_all_others_in(void **state)
{
	struct rig *r = *state;

	set_networks(&r->frontend.deny, &r->frontend.deny_list, "10.0.0.0/8", NULL);
	start(r);
	assert_int_equal(ask(r, "10.255.255.255"), CLOSE_DENIED);
	assert_int_equal(ask(r, "11.0.0.0"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "::1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "unix"), CLOSE_NORMAL);
}

static void an_empty_allow_list_lets_nobody_in(void **state)
{
	struct rig *r = *state;

	set_networks(&r->frontend.allow, &r->frontend.allow_list, NULL, NULL);
	start(r);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_DENIED);
	assert_int_equal(ask(r, "::1"), CLOSE_DENIED);
}

static void networks_are_no_matter_for_a_unix_client_of_a_unix_listener(void **state)
{
	struct rig *r = *state;

	set_networks(&r->frontend.allow, &r->frontend.allow_list, "10.0.0.0/8", NULL);
	set_unix(&r->bind.addr.addr);
	start(r);
	assert_int_equal(ask(r, "unix"), CLOSE_NORMAL);
	/* But what a PROXY header says there is. */
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "11.0.0.1"), CLOSE_DENIED);
	/* And on a TCP listener nobody gets around the list by saying that it is a Unix client. */
	set_ip4(&r->endpoint->addr, "0.0.0.0", BOUND_PORT);
	assert_int_equal(ask(r, "unix"), CLOSE_DENIED);
}

static enum close_reason ask_with_our_uid(struct rig *r, const char *ip)
{
	struct session *s = client(r, ip);
	enum close_reason why;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	s->sides[SIDE_CLIENT].sock.fd = fds[0];
	why = reason_of(s);
	end(s);
	close(fds[0]);
	close(fds[1]);
	return why;
}

static void a_user_who_is_not_listed_is_denied(void **state)
{
	struct rig *r = *state;
	uid_t uids[] = {getuid() + 1, getuid() + 2, getuid() + 3};

	set_unix(&r->bind.addr.addr);
	r->frontend.allow_uids = uids;
	r->frontend.allow_uid_count = 3;
	start(r);
	assert_int_equal(ask_with_our_uid(r, "unix"), CLOSE_DENIED_UID);
	/* It is the process that connected, not the client that it speaks for. */
	assert_int_equal(ask_with_our_uid(r, "10.0.0.1"), CLOSE_DENIED_UID);
	r->fe->config->allow_uids[2] = getuid();
	assert_int_equal(ask_with_our_uid(r, "unix"), CLOSE_NORMAL);
	assert_int_equal(ask_with_our_uid(r, "10.0.0.1"), CLOSE_NORMAL);
	/* Nobody's socket: whoever cannot be asked is not let in. */
	assert_int_equal(ask(r, "unix"), CLOSE_DENIED_UID);
	/* TCP clients have no user. */
	set_ip4(&r->endpoint->addr, "0.0.0.0", BOUND_PORT);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
}

static void a_source_may_have_so_many_sessions_until_one_ends(void **state)
{
	struct rig *r = *state;
	struct session *s[3];

	r->frontend.maxconn_per_source = 2;
	set_networks(&r->frontend.deny, &r->frontend.deny_list, "10.0.0.9", NULL);
	start(r);
	for (int i = 0; i < 3; i++)
		s[i] = client(r, "10.0.0.1");
	assert_int_equal(reason_of(s[0]), CLOSE_NORMAL);
	assert_int_equal(reason_of(s[1]), CLOSE_NORMAL);
	assert_int_equal(reason_of(s[2]), CLOSE_SOURCE_LIMIT);
	assert_int_equal(ask(r, "10.0.0.2"), CLOSE_NORMAL);
	end(s[2]); /* was never counted */
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_LIMIT);
	end(s[0]);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	end(s[1]);
	/* Who is denied by address is not counted, and a Unix client is no source. */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ask(r, "10.0.0.9"), CLOSE_DENIED);
		assert_int_equal(ask(r, "unix"), CLOSE_NORMAL);
	}
	assert_int_equal(source_table_size(r->fe->sources), 0);
	assert_int_equal(counter_get(&r->worker->counters.source_limited), 2);
	assert_int_equal(counter_get(&r->worker->counters.denied), 5);
	assert_int_equal(atomic_load(&r->fe->denied), 7);
}

/* A session that its listener has judged. */
static enum close_reason ask_again(struct rig *r, const char *ip)
{
	struct session *s = client(r, ip);
	enum close_reason why;

	s->judged = true;
	why = reason_of(s);
	end(s);
	return why;
}

static void a_source_may_open_so_many_connections_in_a_time(void **state)
{
	struct rig *r = *state;

	r->frontend.source_rate = (struct config_source_rate){2, 2, 10 * NS_PER_SEC};
	set_networks(&r->frontend.deny, &r->frontend.deny_list, "10.0.0.9", NULL);
	set_networks(&r->frontend.exempt, &r->frontend.exempt_list, "10.0.0.8", "2001:db8::/32");
	start(r);
	assert_true(r->fe->settings->guarded);
	assert_true(r->fe->settings->choosy);
	r->worker->loop.now_ns = 100 * NS_PER_SEC;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_RATE);
	assert_int_equal(ask(r, "10.0.0.2"), CLOSE_NORMAL);
	assert_int_equal(ask_again(r, "10.0.0.1"), CLOSE_NORMAL);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(ask(r, "10.0.0.8"), CLOSE_NORMAL);
		assert_int_equal(ask(r, "2001:db8::1"), CLOSE_NORMAL);
		assert_int_equal(ask(r, "10.0.0.9"), CLOSE_DENIED);
		assert_int_equal(ask(r, "unix"), CLOSE_NORMAL);
	}
	r->worker->loop.now_ns += 5 * NS_PER_SEC - 1;
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_RATE);
	r->worker->loop.now_ns += 1;
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_RATE);
	assert_int_equal(counter_get(&r->worker->counters.source_rate_limited), 3);
	assert_int_equal(counter_get(&r->worker->counters.denied), 5);
	assert_int_equal(counter_get(&r->worker->counters.source_limited), 0);
	assert_int_equal(atomic_load(&r->fe->denied), 8);
	assert_int_equal(source_rates_size(r->fe->source_rates), 2);
}

static void sources_beyond_a_full_table_are_let_in_and_counted(void **state)
{
	struct rig *r = *state;

	r->frontend.source_rate = (struct config_source_rate){1, 1, NS_PER_SEC};
	start(r);
	source_rates_free(r->fe->source_rates);
	r->fe->source_rates = source_rates_new(2);
	assert_non_null(r->fe->source_rates);
	r->worker->loop.now_ns = 100 * NS_PER_SEC;
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.0.0.2"), CLOSE_NORMAL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(r, "10.0.0.3"), CLOSE_NORMAL);
	assert_int_equal(counter_get(&r->worker->counters.source_rate_missed), 3);
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_RATE);
	r->worker->loop.now_ns += NS_PER_SEC;
	assert_int_equal(ask(r, "10.0.0.3"), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.0.0.3"), CLOSE_SOURCE_RATE);
	assert_int_equal(counter_get(&r->worker->counters.source_rate_missed), 3);
}

static void exempt_sources_are_not_counted(void **state)
{
	struct rig *r = *state;
	struct session *s[4];

	r->frontend.maxconn_per_source = 1;
	set_networks(&r->frontend.exempt, &r->frontend.exempt_list, "10.0.0.8", NULL);
	start(r);
	for (int i = 0; i < 4; i++) {
		s[i] = client(r, "10.0.0.8");
		assert_int_equal(reason_of(s[i]), CLOSE_NORMAL);
	}
	assert_int_equal(source_table_size(r->fe->sources), 0);
	for (int i = 0; i < 4; i++)
		end(s[i]);
	s[0] = client(r, "10.0.0.7");
	assert_int_equal(reason_of(s[0]), CLOSE_NORMAL);
	assert_int_equal(ask(r, "10.0.0.7"), CLOSE_SOURCE_LIMIT);
	end(s[0]);
	/* Nor is a peer that owes a header. */
	s[0] = client(r, "10.0.0.8");
	session_set_state(s[0], SESSION_HANDSHAKE);
	admission_owes_header(s[0]);
	assert_null(s[0]->extra);
	end(s[0]);
}

/* The reservations that sessions of the frontend have taken or given back since their start. */
static int slots(const struct rig *r)
{
	return atomic_load(&r->fe->sessions) - SLOTS;
}

static void who_waits_for_one_that_is_ending_has_no_slot_until_it_has_its_place(void **state)
{
	struct rig *r = *state;
	struct session *s[3];

	r->frontend.maxconn_per_source = 1;
	start(r);
	for (int i = 0; i < 3; i++)
		s[i] = client(r, "10.0.0.1");
	assert_int_equal(reason_of(s[0]), CLOSE_NORMAL);
	source_leave_soon(s[0]);
	source_leave_soon(s[0]); /* once is enough */
	assert_false(admission_admit(s[1]));
	assert_int_equal(s[1]->state, SESSION_HELD);
	assert_int_equal(slots(r), -1);
	look(r->worker);
	assert_int_equal(s[1]->state, SESSION_HELD);
	assert_int_equal(reason_of(s[2]), CLOSE_SOURCE_LIMIT); /* one waits already */
	assert_int_equal(slots(r), -1);
	assert_true(source_leave(s[0]));
	assert_int_equal(slots(r), -1); /* that of s[0] is the one of s[1] now */
	assert_true(s[1]->slotless);
	session_close(s[1], CLOSE_STOPPED);
	assert_false(s[1]->slotless);
	assert_non_null(s[1]->extra->source);
	assert_false(source_leave(s[1]));
	for (int i = 0; i < 3; i++)
		end(s[i]);
	assert_int_equal(source_table_size(r->fe->sources), 0);
	assert_int_equal(counter_get(&r->worker->counters.source_waits), 1);
	assert_int_equal(r->worker->source_wait_count, 0);
	assert_false(atomic_load(&r->worker->has_source_waits));
}

static void who_is_refused_after_its_wait_gives_no_slot_back_again(void **state)
{
	struct rig *r = *state;
	struct session *s[2];

	r->frontend.maxconn_per_source = 1;
	start(r);
	for (int i = 0; i < 2; i++)
		s[i] = client(r, "10.0.0.1");
	assert_int_equal(reason_of(s[0]), CLOSE_NORMAL);
	assert_int_equal(reason_of(s[1]), CLOSE_SOURCE_LIMIT);
	assert_true(s[1]->slotless);
	assert_int_equal(slots(r), -1);
	/* Nobody was ending: the next one of this source needs no wait to hear the same. */
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_LIMIT);
	assert_int_equal(counter_get(&r->worker->counters.source_waits), 1);
	r->worker->loop.now_ns += SOURCE_AGAIN_NS;
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_LIMIT);
	assert_int_equal(counter_get(&r->worker->counters.source_waits), 2);
	for (int i = 0; i < 2; i++)
		end(s[i]);
}

/* A session whose peer at `ip` owes a PROXY header. */
static struct session *owing(struct rig *r, const char *ip)
{
	struct session *s = client(r, ip);

	assert_non_null(session_extra(s));
	session_set_state(s, SESSION_HANDSHAKE);
	s->fixed_ns = CLOCK_NEVER;
	admission_owes_header(s);
	return s;
}

static bool is_named(struct session *s, const char *ip)
{
	assert_int_equal(inet_pton(AF_INET, ip, s->client.ip), 1);
	return admission_admit(s);
}

static void who_owes_a_header_is_counted_by_its_own_address_until_it_is_named(void **state)
{
	struct rig *r = *state;
	struct session *s[3];

	r->frontend.maxconn_per_source = 2;
	start(r);
	for (int i = 0; i < 2; i++)
		s[i] = owing(r, "10.0.0.1");
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_SOURCE_LIMIT);
	/* One is named, so there is room; the other names itself, and is counted once. */
	assert_true(is_named(s[0], "10.0.0.2"));
	assert_int_equal(ask(r, "10.0.0.1"), CLOSE_NORMAL);
	assert_true(is_named(s[1], "10.0.0.1"));
	assert_int_equal(source_table_size(r->fe->sources), 2);
	s[2] = client(r, "10.0.0.1");
	assert_int_equal(reason_of(s[2]), CLOSE_NORMAL);
	for (int i = 0; i < 3; i++)
		end(s[i]);
	assert_int_equal(source_table_size(r->fe->sources), 0);
}

static void who_is_over_its_limit_owes_a_header_for_a_moment_only(void **state)
{
	struct rig *r = *state;
	struct session *s[3];

	r->frontend.maxconn_per_source = 1;
	start(r);
	s[0] = owing(r, "10.0.0.1");
	assert_true(s[0]->fixed_ns == CLOCK_NEVER);
	s[1] = owing(r, "10.0.0.1");
	assert_true(s[1]->fixed_ns - r->worker->loop.now_ns <= 250 * NS_PER_MS);
	admission_header_late(s[1]);
	assert_int_equal(s[1]->reason, CLOSE_SOURCE_LIMIT);
	assert_int_equal(counter_get(&r->worker->counters.source_limited), 1);
	/* The less room there is, the shorter it is: here nothing is left. */
	atomic_store(&r->fe->sessions, 100);
	s[2] = owing(r, "10.0.0.1");
	assert_true(s[2]->fixed_ns - r->worker->loop.now_ns <= NS_PER_MS);
	/* Its header comes in time: it is of another source, and nothing was ever wrong. */
	assert_true(is_named(s[2], "10.0.0.2"));
	session_close(s[2], CLOSE_STOPPED);
	admission_header_late(s[0]);
	assert_int_equal(s[0]->reason, CLOSE_PROXY_TIMEOUT);
	atomic_store(&r->fe->sessions, SLOTS);
	for (int i = 0; i < 3; i++)
		end(s[i]);
}

static void a_place_that_moves_away_goes_to_who_waits_and_both_have_a_slot(void **state)
{
	struct rig *r = *state;
	struct session *s[3];

	r->frontend.maxconn_per_source = 2;
	start(r);
	s[0] = client(r, "10.0.0.1");
	assert_int_equal(reason_of(s[0]), CLOSE_NORMAL);
	s[1] = owing(r, "10.0.0.1");
	source_leave_soon(s[0]);
	s[2] = client(r, "10.0.0.1");
	assert_false(admission_admit(s[2]));
	assert_int_equal(s[2]->state, SESSION_HELD);
	assert_int_equal(slots(r), -1);
	assert_true(is_named(s[1], "10.0.0.2"));
	assert_int_equal(slots(r), 0);
	session_close(s[2], CLOSE_STOPPED); /* it has its place, and with it a slot */
	assert_false(s[2]->slotless);
	for (int i = 0; i < 3; i++)
		end(s[i]);
	assert_int_equal(source_table_size(r->fe->sources), 0);
}

static void the_first_rule_that_fits_says_where(void **state)
{
	struct rig *r = *state;

	r->routes[0] = (struct config_route){.backend = 1};
	set_networks(&r->routes[0].src, &r->routes[0].src_list, "10.1.0.0/16", NULL);
	r->routes[1] = (struct config_route){.backend = 2};
	set_networks(&r->routes[1].src, &r->routes[1].src_list, "10.0.0.0/8", "::1");
	r->frontend.route_count = 2;
	r->frontend.backend = 3;
	start(r);
	assert_int_equal(route_of(r, "10.1.2.3"), 1);
	assert_int_equal(route_of(r, "10.2.2.3"), 2);
	assert_int_equal(route_of(r, "::1"), 2);
	assert_int_equal(route_of(r, "192.0.2.1"), 3);
	assert_int_equal(route_of(r, "unix"), 3);
}

static void a_rule_by_port_needs_the_port_and_its_network(void **state)
{
	static struct config_ports low[] = {{1, 79}, {8000, 8999}}, high[] = {{9000, 65535}};
	struct rig *r = *state;

	r->routes[0] = (struct config_route){.backend = 1, .ports = high, .port_count = 1};
	r->routes[1] = (struct config_route){.backend = 2, .ports = low, .port_count = 2};
	set_networks(&r->routes[1].src, &r->routes[1].src_list, "10.0.0.0/8", NULL);
	r->routes[2] = (struct config_route){.backend = 3, .ports = low, .port_count = 2};
	r->frontend.route_count = 3;
	start(r);
	assert_int_equal(route_of(r, "10.0.0.1"), 2);
	assert_int_equal(route_of(r, "192.0.2.1"), 3);
	set_ip4(&r->endpoint->addr, "0.0.0.0", 9000);
	assert_int_equal(route_of(r, "10.0.0.1"), 1);
	set_ip4(&r->endpoint->addr, "0.0.0.0", 80);
	assert_int_equal(route_of(r, "10.0.0.1"), 0);
	set_unix(&r->endpoint->addr);
	assert_int_equal(route_of(r, "unix"), 0);
}

static void the_port_of_a_header_goes_before_that_of_the_listener(void **state)
{
	static struct config_ports any[] = {{0, 65535}}, https[] = {{443, 443}};
	struct rig *r = *state;
	struct session *s;

	r->routes[0] = (struct config_route){.backend = 1, .ports = https, .port_count = 1};
	r->routes[1] = (struct config_route){.backend = 2, .ports = any, .port_count = 1};
	r->frontend.route_count = 2;
	start(r);
	assert_int_equal(route_of(r, "10.0.0.1"), 2);
	s = client(r, "10.0.0.1");
	assert_non_null(session_extra(s));
	s->extra->dst = (struct addr_brief){.family = AF_INET6, .port = 443};
	assert_int_equal(route(r, s), 1);
	end(s);
	/* A header with Unix addresses has no port. */
	s = client(r, "10.0.0.1");
	assert_non_null(session_extra(s));
	s->extra->dst = (struct addr_brief){.family = AF_UNIX};
	assert_int_equal(route(r, s), 0);
	end(s);
}

static void a_transparent_listener_is_asked_for_the_port_of_the_connection(void **state)
{
	struct rig *r = *state;
	struct config_ports ports = {0, 0};
	struct addr a;
	struct session *s;
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(&a, 0, sizeof(a));
	set_ip4(&a, "127.0.0.1", 0);
	assert_int_equal(bind(fd, &a.sa, a.len), 0);
	assert_int_equal(getsockname(fd, &a.sa, &a.len), 0);
	ports.first = ports.last = ntohs(a.in.sin_port);
	r->routes[0] = (struct config_route){.backend = 1, .ports = &ports, .port_count = 1};
	r->frontend.route_count = 1;
	r->bind.transparent = true;
	start(r);
	s = client(r, "10.0.0.1");
	s->sides[SIDE_CLIENT].sock.fd = fd;
	assert_int_equal(route(r, s), 1);
	end(s);
	close(fd);
}

static void assert_destination(struct rig *r, int fd, const char *ip)
{
	struct session *s = client(r, "10.0.0.1");
	struct addr_brief to;
	uint8_t wanted[16];

	s->sides[SIDE_CLIENT].sock.fd = fd;
	assert_int_equal(destination_of(s, &to), ip != NULL);
	if (ip != NULL) {
		assert_int_equal(to.family, AF_INET);
		assert_int_equal(inet_pton(AF_INET, ip, wanted), 1);
		assert_memory_equal(to.ip, wanted, 4);
	}
	end(s);
}

static void the_kernel_is_asked_where_a_client_connected_to_only_if_it_may_be_anywhere(void **state)
{
	struct rig *r = *state;
	struct addr a;
	struct session *s;
	struct addr_brief to;
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(&a, 0, sizeof(a));
	set_ip4(&a, "127.0.0.3", 0);
	assert_int_equal(bind(fd, &a.sa, a.len), 0);
	start(r);
	set_ip4(&r->endpoint->addr, "127.0.0.2", 80);
	assert_destination(r, -1, "127.0.0.2");
	set_ip4(&r->endpoint->addr, "0.0.0.0", 80);
	assert_destination(r, -1, NULL);
	assert_destination(r, fd, "127.0.0.3");
	s = client(r, "10.0.0.1");
	assert_non_null(session_extra(s));
	s->extra->dst = (struct addr_brief){.family = AF_INET6, .port = 443};
	assert_true(destination_of(s, &to));
	assert_int_equal(to.family, AF_INET6);
	s->extra->dst.family = AF_UNIX; /* of a header with paths */
	assert_false(destination_of(s, &to));
	end(s);
	set_unix(&r->endpoint->addr);
	assert_destination(r, fd, NULL);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frontend_without_any_of_it_is_not_guarded),
		TEST(deny_goes_before_allow_and_allow_keeps_out_the_rest),
		TEST(deny_alone_lets_all_others_in),
		TEST(an_empty_allow_list_lets_nobody_in),
		TEST(networks_are_no_matter_for_a_unix_client_of_a_unix_listener),
		TEST(a_user_who_is_not_listed_is_denied),
		TEST(a_source_may_have_so_many_sessions_until_one_ends),
		TEST(a_source_may_open_so_many_connections_in_a_time),
		TEST(sources_beyond_a_full_table_are_let_in_and_counted),
		TEST(exempt_sources_are_not_counted),
		TEST(who_waits_for_one_that_is_ending_has_no_slot_until_it_has_its_place),
		TEST(who_is_refused_after_its_wait_gives_no_slot_back_again),
		TEST(who_owes_a_header_is_counted_by_its_own_address_until_it_is_named),
		TEST(who_is_over_its_limit_owes_a_header_for_a_moment_only),
		TEST(a_place_that_moves_away_goes_to_who_waits_and_both_have_a_slot),
		TEST(the_first_rule_that_fits_says_where),
		TEST(a_rule_by_port_needs_the_port_and_its_network),
		TEST(the_port_of_a_header_goes_before_that_of_the_listener),
		TEST(a_transparent_listener_is_asked_for_the_port_of_the_connection),
		TEST(the_kernel_is_asked_where_a_client_connected_to_only_if_it_may_be_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
