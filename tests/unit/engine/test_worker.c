/* SPDX-License-Identifier: MIT
 *
 * test_worker.c - one worker over real sockets: made without memory, and told to end sessions while its
 * mailbox is full; and several: of which one cannot be made, whose mailbox is full, and whose drivers borrow
 * buffers.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/extra.h"
#include "engine/queueing.h"
#include "engine/listener.h"
#include "engine/session.h"
#include "engine/session_begin.h"
#include "engine/slots.h"
#include "engine/worker.h"
#include "small_engine.h"

#define SERVERS 3
#define TURNS_MAX 1000
/* More than a worker needs to be made. */
#define ALLOCATIONS_MAX 1000

struct rig {
	struct config config;
	struct config_frontend frontend;
	struct config_bind bind;
	struct config_backend backend;
	struct config_server servers[SERVERS];
	struct engine engine;
	struct worker *worker;
	int listeners[SERVERS];
};

/* ---- memory that runs out ---- */

static int allocations_left = -1; /* -1 = as many as there are */

static bool may_allocate(void)
{
	if (allocations_left == 0)
		return false;
	if (allocations_left > 0)
		allocations_left--;
	return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return may_allocate() ? __real_aligned_alloc(align, size) : NULL;
}

/* ---- one worker, three servers ---- */

static atomic_uint news; /* workers notify */

static void on_news(void *arg)
{
	(void)arg;
	atomic_fetch_add(&news, 1);
}

static void set_loopback(struct addr *a)
{
	memset(a, 0, sizeof(*a));
	a->in.sin_family = AF_INET;
	a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->len = sizeof(a->in);
}

static int listen_at(struct addr *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	set_loopback(a);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &a->sa, a->len), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, &a->sa, &a->len), 0);
	return fd;
}

static void open_engine(struct rig *r)
{
	struct endpoint *failed;

	small_engine_open(&r->engine, &r->config, 1, on_news);
	assert_int_equal(entries_bind(&r->engine.entries, &failed), 0);
}

static int open_rig(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->config.global.pipe_cycle_ns = INT64_C(10000000000);
	r->config.frontends = &r->frontend;
	r->config.frontend_count = 1;
	r->config.backends = &r->backend;
	r->config.backend_count = 1;
	r->frontend.binds = &r->bind;
	r->frontend.bind_count = 1;
	r->frontend.maxconn = 100;
	r->bind.addr.kind = ADDR_IP;
	set_loopback(&r->bind.addr.addr);
	r->backend.servers = r->servers;
	r->backend.server_count = SERVERS;
	for (unsigned i = 0; i < SERVERS; i++) {
		r->servers[i].name[0] = (char)('a' + i);
		r->servers[i].weight = 1;
		r->servers[i].addr.kind = ADDR_IP;
		r->listeners[i] = listen_at(&r->servers[i].addr.addr);
	}
	open_engine(r);
	*state = r;
	return 0;
}

static int close_rig(void **state)
{
	struct rig *r = *state;

	allocations_left = -1;
	if (r->worker != NULL) {
		engine_stop(&r->engine);
		worker_run_out(r->worker);
	}
	assert_true(small_engine_is_unused(&r->engine));
	engine_free(&r->engine);
	for (unsigned i = 0; i < SERVERS; i++)
		close(r->listeners[i]);
	free(r);
	return 0;
}

static void start_worker(struct rig *r)
{
	int err;

	r->worker = r->engine.workers[0] = worker_new(&r->engine, 0, &io_epoll_driver, &err);
	assert_non_null(r->worker);
}

static int connect_client(struct rig *r)
{
	const struct addr *a = &first_endpoint(&r->engine)->addr;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &a->sa, a->len), 0);
	return fd;
}

static unsigned forwarding(const struct rig *r)
{
	unsigned n = 0;

	for (const struct list *pos = r->worker->live.next; pos != &r->worker->live; pos = pos->next)
		n += list_entry(pos, struct session, link)->state == SESSION_FORWARDING;
	return n;
}

/* One turn, which sleeps no longer than it must. */
static void turn(struct rig *r)
{
	io_loop_wake(&r->worker->loop);
	worker_turn(r->worker);
}

static void turn_until_forwarding(struct rig *r, unsigned count)
{
	for (int i = 0; forwarding(r) < count; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
}

/* ---- the tests ---- */

/* Whichever allocation fails, the worker is not made, and whoever waits at its listener harms nobody. */
static void a_worker_without_memory_is_not_made(void **state)
{
	struct rig *r = *state;
	const int fd = connect_client(r);
	int n = 0;
	int err;

	while (r->worker == NULL) {
		assert_in_range(n, 0, ALLOCATIONS_MAX);
		allocations_left = n++;
		r->worker = worker_new(&r->engine, 0, &io_epoll_driver, &err);
		allocations_left = -1;
		if (r->worker == NULL)
			assert_int_equal(err, -ENOMEM);
		assert_int_equal(atomic_load(&first_frontend(&r->engine)->total), 0);
	}
	assert_true(n > 5);
	r->engine.workers[0] = r->worker;
	close(fd);
}

static void start_sessions(struct rig *r, unsigned count, int fds[])
{
	const unsigned before = forwarding(r);

	for (unsigned i = 0; i < count; i++)
		fds[i] = connect_client(r);
	turn_until_forwarding(r, before + count);
}

static bool has_session(const struct rig *r, unsigned server)
{
	return atomic_load(&r->engine.backends[0]->servers[server]->sessions) > 0;
}

static void an_order_to_end_sessions_needs_no_room_in_a_mailbox(void **state)
{
	struct rig *r = *state;
	struct server **servers = r->engine.backends[0]->servers;
	const struct letter letter = {.fd = -1};
	int fds[SERVERS];

	start_worker(r);
	start_sessions(r, SERVERS, fds);
	r->worker->mailbox.closed = true; /* as if it were full */
	assert_false(mailbox_send(&r->worker->mailbox, &letter));
	engine_close_sessions(&r->engine, servers[0]);
	engine_kill_sessions(&r->engine, servers[2]);
	engine_kill_sessions(&r->engine, servers[2]);
	turn(r);
	r->worker->mailbox.closed = false;
	assert_false(has_session(r, 0));
	assert_true(has_session(r, 1));
	assert_false(has_session(r, 2));
	/* An old order is not carried out again. */
	engine_close_sessions(&r->engine, servers[2]);
	turn(r);
	assert_true(has_session(r, 1));
	for (int i = 0; i < SERVERS; i++)
		close(fds[i]);
}

/* A second worker without sessions, which does not turn. */
static struct worker *add_idle_worker(struct rig *r)
{
	struct worker **both = realloc(r->engine.workers, 2 * sizeof(struct worker *));

	assert_non_null(both);
	both[1] = NULL;
	r->engine.workers = both;
	r->engine.worker_count = 2;
	return small_engine_worker(&r->engine, 1);
}

static void fill_mailbox(struct worker *w)
{
	const struct letter letter = {.fd = -1};

	for (int i = 0; i < MAILBOX_LETTERS; i++)
		assert_true(mailbox_send(&w->mailbox, &letter));
	assert_false(mailbox_send(&w->mailbox, &letter));
}

static void empty_mailbox(struct worker *w)
{
	struct letter letter;

	while (mailbox_take(&w->mailbox, &letter))
		assert_int_equal(letter.fd, -1);
}

static void a_client_for_a_full_mailbox_is_served_here_and_counted(void **state)
{
	struct rig *r = *state;
	struct worker *idle;
	int fds[SERVERS], more;

	start_worker(r);
	start_sessions(r, SERVERS, fds);
	idle = add_idle_worker(r);
	fill_mailbox(idle);
	start_sessions(r, 1, &more);
	assert_int_equal(counter_get(&r->worker->counters.mailbox_full), 1);
	assert_int_equal(counter_get(&r->worker->counters.handed_off), 0);
	assert_int_equal(atomic_load(&r->worker->load), SERVERS + 1);
	assert_int_equal(atomic_load(&idle->load), 0);
	empty_mailbox(idle);
	for (int i = 0; i < SERVERS; i++)
		close(fds[i]);
	close(more);
}

static int sessions_of(const struct rig *r, unsigned server)
{
	return atomic_load(&r->engine.backends[0]->servers[server]->sessions);
}

/* Two orders, the second while the first is carried out, and clients that come meanwhile. */
static void an_order_goes_in_slices_and_spares_who_comes_after_it(void **state)
{
	struct rig *r = *state;
	struct server **servers = r->engine.backends[0]->servers;
	int fds[SERVERS * 24];

	start_worker(r);
	start_sessions(r, SERVERS * 20, fds);
	engine_kill_sessions(&r->engine, servers[0]);
	turn(r);
	assert_int_equal(sessions_of(r, 0), 20 - EVICT_SESSIONS_MAX);
	engine_kill_sessions(&r->engine, servers[1]);
	for (int i = 60; i < 72; i++)
		fds[i] = connect_client(r);
	for (int i = 0; i < 20; i++)
		turn(r);
	assert_int_equal(sessions_of(r, 0), 4);
	assert_int_equal(sessions_of(r, 2), 24);
	/* Those that came to the second before its walk began are meant. */
	assert_in_range(sessions_of(r, 1), 0, 4);
	assert_false(r->worker->evict_walk.running);
	/* At the same server again. */
	engine_kill_sessions(&r->engine, servers[0]);
	for (int i = 0; i < 4; i++)
		turn(r);
	assert_int_equal(sessions_of(r, 0), 0);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		close(fds[i]);
}

/* ---- several workers ---- */

static int opens_left;

/* A driver of which a user may have so many. */
static void turn_until_paused(struct rig *r, uint64_t pauses)
{
	for (int i = 0; counter_get(&r->worker->counters.memory_pauses) < pauses; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
}

static void while_memory_is_short_clients_wait_until_it_is_over_or_a_drain_takes_them(void **state)
{
	struct rig *r = *state;
	int fds[3];

	start_worker(r);
	start_sessions(r, 1, fds);
	engine_pause_accept(&r->engine, true);
	fds[1] = connect_client(r);
	turn_until_paused(r, 1);
	mailbox_signal(&r->worker->mailbox, MAIL_RESUME); /* there is a place; memory is still short */
	for (int i = 0; i < 3; i++)
		turn(r);
	assert_int_equal(r->worker->sessions, 1);
	assert_int_equal(counter_get(&r->worker->counters.memory_pauses), 1);
	engine_pause_accept(&r->engine, false);
	turn_until_forwarding(r, 2);
	engine_pause_accept(&r->engine, true);
	fds[2] = connect_client(r);
	turn_until_paused(r, 2);
	assert_int_equal(r->worker->sessions, 2);
	engine_drain(&r->engine, 1);
	turn_until_forwarding(r, 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void who_drains_leaves_the_endpoints_and_control_closes_them(void **state)
{
	struct rig *r = *state;
	const struct endpoint *ep = first_endpoint(&r->engine);
	const struct addr a = ep->addr;
	int fds[2];

	start_worker(r);
	start_sessions(r, 1, fds);
	engine_take_news(&r->engine);
	assert_true(ep->fd >= 0); /* the worker listens there */
	engine_drain(&r->engine, 1);
	for (int i = 0; atomic_load(&ep->listeners) > 0; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
	assert_true(ep->fd >= 0);
	for (int i = 0; !r->worker->deaf; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		engine_take_news(&r->engine);
		turn(r);
	}
	assert_int_equal(r->engine.entries.endpoint_count, 0);
	fds[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fds[1], &a.sa, a.len), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_false(r->worker->finished);
	assert_int_equal(forwarding(r), 1); /* the session goes on */
	engine_take_news(&r->engine);       /* harmless */
	for (int i = 0; i < 2; i++)
		close(fds[i]);
}

static int open_or_refuse(struct io_loop *loop)
{
	return opens_left-- > 0 ? io_epoll_driver.open(loop) : -ENOMEM;
}

static void run_out(struct engine *e)
{
	engine_stop(e);
	while (atomic_load(&e->workers_done) < (int)e->worker_count)
		sched_yield();
	engine_join(e);
}

/* Where the driver of the second or third worker cannot be opened, the first has not taken a client, and
 * another driver may be tried. */
static void an_engine_that_did_not_start_can_be_started_again(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	const struct engine_limits limits = e->limits;
	struct io_driver driver = io_epoll_driver;
	const int fd = connect_client(r);
	const int next = dup(fd);

	driver.open = open_or_refuse;
	free(e->workers); /* of the other tests */
	e->workers = NULL;
	e->worker_count = 0;
	close(next);
	for (int n = 0; n < 3; n++) {
		opens_left = n;
		assert_int_equal(engine_start(e, &limits, 3, &driver), -ENOMEM);
		assert_int_equal(e->worker_count, 0);
		assert_int_equal(atomic_load(&e->workers_ready), 0);
		assert_int_equal(atomic_load(&first_frontend(e)->total), 0);
		assert_int_equal(dup(fd), next); /* no descriptor was left open */
		close(next);
	}
	assert_int_equal(engine_start(e, &limits, 3, &io_epoll_driver), 0);
	while (atomic_load(&first_frontend(e)->total) == 0)
		sched_yield();
	run_out(e);
	assert_int_equal(atomic_load(&e->workers_ready), 3);
	close(fd);
}

/* What each worker's driver borrows of the pool is nobody else's loss. */
static void the_budget_of_buffers_holds_what_drivers_borrow_on_top(void **state)
{
	static struct io_driver driver; /* until the workers are freed */
	struct rig *r = *state;
	struct engine *e = &r->engine;
	const struct engine_limits limits = e->limits;

	free(e->workers); /* of the other tests */
	e->workers = NULL;
	e->worker_count = 0;
	driver = io_epoll_driver;
	driver.borrows_bytes = 1000000;
	assert_int_equal(engine_start(e, &limits, 3, &driver), 0);
	run_out(e);
	assert_int_equal(e->bufs.budget_bytes, limits.buf_budget_bytes + 3 * driver.borrows_bytes);
	assert_int_equal(e->limits.buf_budget_bytes, limits.buf_budget_bytes); /* what is reported stays */
}

/* ---- limits that change ---- */

static uint64_t pauses(const struct rig *r)
{
	return counter_get(&r->worker->counters.accept_pauses);
}

static void turn_until_limited(struct rig *r, uint64_t count)
{
	for (int i = 0; pauses(r) < count; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
}

static void turn_until_left(struct rig *r, unsigned count)
{
	for (int i = 0; r->worker->sessions != count; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
}

static void a_lower_maxconn_closes_nothing_and_a_higher_one_wakes_who_waits(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	int fds[6];

	start_worker(r);
	engine_set_frontend_maxconn(first_frontend(e), 0); /* as the process */
	start_sessions(r, 5, fds);
	engine_set_maxconn(e, 2);
	assert_int_equal(frontend_limit(first_frontend(e)), 2);
	fds[5] = connect_client(r);
	turn_until_limited(r, 1);
	assert_int_equal(forwarding(r), 5);
	/* While there is no room by far, an end wakes nobody in vain. */
	engine_kill_sessions(e, e->backends[0]->servers[0]);
	turn_until_left(r, 3);
	assert_int_equal(pauses(r), 1);
	engine_set_maxconn(e, 4);
	turn_until_forwarding(r, 4);
	assert_int_equal(atomic_load(&e->sessions), 4);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

static void a_frontend_s_own_maxconn_may_change_too(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	struct frontend *fe = first_frontend(e);
	int fds[3];

	start_worker(r);
	engine_set_frontend_maxconn(fe, 1);
	start_sessions(r, 1, fds);
	fds[1] = connect_client(r);
	turn_until_limited(r, 1);
	engine_set_maxconn(e, 50); /* its own stays, and nobody is woken in vain */
	engine_set_maxconn(e, 60);
	for (int i = 0; i < 10; i++)
		turn(r);
	assert_int_equal(pauses(r), 1);
	assert_int_equal(forwarding(r), 1);
	assert_int_equal(frontend_limit(fe), 1);
	engine_set_frontend_maxconn(fe, 2);
	turn_until_forwarding(r, 2);
	fds[2] = connect_client(r);
	turn_until_limited(r, 2);
	engine_set_frontend_maxconn(fe, 0);
	assert_int_equal(frontend_limit(fe), 60);
	turn_until_forwarding(r, 3);
	assert_true(paused_is_empty(&fe->paused));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

static void clients_that_wait_for_a_rate_limit_come_in_when_it_goes(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	int fds[4];

	start_worker(r);
	start_sessions(r, 1, fds);
	engine_set_rate_limit(e, first_frontend(e), 1);
	for (int i = 1; i < 4; i++)
		fds[i] = connect_client(r);
	for (int i = 0; counter_get(&r->worker->counters.rate_pauses) == 0; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
	assert_int_equal(forwarding(r), 2);
	engine_set_rate_limit(e, first_frontend(e), 0);
	turn_until_forwarding(r, 4);
	assert_true(paused_is_empty(&first_frontend(e)->rate_paused));
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

/* Until a listener has paused for want of a place in the rate. */
static void turn_until_rate_pause(struct rig *r, uint64_t pauses)
{
	for (int i = 0; counter_get(&r->worker->counters.rate_pauses) < pauses; i++) {
		assert_in_range(i, 0, TURNS_MAX);
		turn(r);
	}
}

static void clients_that_wait_for_the_process_s_rate_come_in_when_it_goes(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	int fds[4];

	start_worker(r);
	start_sessions(r, 1, fds);
	assert_int_equal(rate_room(&e->rate, r->worker->loop.now_ns), 0); /* nothing is counted without it */
	engine_set_process_rate(e, 2);
	assert_int_equal(rate_room(&e->rate, r->worker->loop.now_ns), 2);
	for (int i = 1; i < 4; i++)
		fds[i] = connect_client(r);
	turn_until_rate_pause(r, 1);
	turn_until_forwarding(r, 3);
	assert_false(paused_is_empty(&e->rate_paused));
	assert_true(paused_is_empty(&first_frontend(e)->rate_paused));
	assert_int_equal(atomic_load(&e->sessions), 3); /* who waits has no slot */
	engine_set_process_rate(e, 0);
	turn_until_forwarding(r, 4);
	assert_true(paused_is_empty(&e->rate_paused));
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

/* A place of the one that is not used for want of a place of the other is given back. */
static void each_of_two_rates_holds(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	struct frontend *fe = first_frontend(e);
	int fds[4];

	start_worker(r);
	engine_set_rate_limit(e, fe, 3);
	engine_set_process_rate(e, 2);
	for (int i = 0; i < 4; i++)
		fds[i] = connect_client(r);
	turn_until_rate_pause(r, 1);
	turn_until_forwarding(r, 2);
	assert_false(paused_is_empty(&e->rate_paused));
	assert_int_equal(rate_room(&fe->rate, r->worker->loop.now_ns), 1);
	engine_set_process_rate(e, 1000);
	turn_until_rate_pause(r, 2);
	turn_until_forwarding(r, 3);
	assert_true(paused_is_empty(&e->rate_paused));
	assert_false(paused_is_empty(&fe->rate_paused));
	engine_set_rate_limit(e, fe, 0);
	turn_until_forwarding(r, 4);
	engine_set_process_rate(e, 0);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

#define CROWD 90

/* Each client comes in at last, whichever moment of whichever worker a change meets. */
static void no_change_of_a_limit_leaves_a_client_behind(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	const struct engine_limits high = e->limits;
	struct engine_limits low = high;
	int fds[CROWD];

	free(e->workers); /* of the other tests */
	e->workers = NULL;
	e->worker_count = 0;
	low.maxconn = 1;
	low.maxpipes = 1;
	low.buf_budget_bytes = 1 << 18;
	assert_int_equal(engine_start(e, &high, 3, &io_epoll_driver), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		fds[i] = connect_client(r);
		engine_set_limits(e, i % 2 == 0 ? &low : &high);
		engine_set_frontend_maxconn(first_frontend(e), i % 3 == 0 ? 1 : 0);
		engine_set_rate_limit(e, first_frontend(e), i % 7 == 0 ? 1 : 0);
		engine_set_process_rate(e, i % 5 == 0 ? 1 : 0);
		engine_set_splice(e, i % 2 == 0 ? CONFIG_SPLICE_OFF : CONFIG_SPLICE_ON);
	}
	engine_set_frontend_maxconn(first_frontend(e), 0);
	engine_set_rate_limit(e, first_frontend(e), 0);
	engine_set_process_rate(e, 0);
	engine_set_limits(e, &high);
	while (atomic_load(&first_frontend(e)->total) < CROWD)
		sched_yield();
	assert_int_equal(e->limits.maxconn, 100);
	run_out(e);
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
}

/* ---- places of a rate-limit ---- */

/* Whoever was accepted without a limit was not counted, and takes back no place of another one. */
static void client_from_before_a_rate_limit_gives_no_place_of_it_back(void **state)
{
	struct rig *r = *state;
	struct engine *e = &r->engine;
	struct frontend *fe = first_frontend(e);
	struct letter letter = {.entry = endpoint_settings(first_endpoint(e))};
	struct listener *l;

	start_worker(r);
	l = worker_listener(r->worker, first_endpoint(e)->slot);
	l->reserved = true;
	for (int is_rated = 0; is_rated < 2; is_rated++) {
		/* It is on its way to a worker, and another one is counted. */
		engine_set_rate_limit(e, fe, 0);
		engine_set_rate_limit(e, fe, 1);
		r->worker->loop.now_ns = fe->rate.start_ns + 1;
		assert_int_equal(rate_take(&fe->rate, r->worker->loop.now_ns), 0);
		slots_force(e, fe);
		atomic_fetch_add(&r->worker->load, 1);
		letter.rated = is_rated;
		letter.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		allocations_left = 0; /* so it is refused */
		session_start(r->worker, &letter);
		allocations_left = -1;
		assert_int_equal(rate_room(&fe->rate, r->worker->loop.now_ns), is_rated);
	}
	/* No client has come for what was reserved without a limit. */
	assert_int_equal(rate_take(&fe->rate, r->worker->loop.now_ns), 0);
	slots_force(e, fe);
	l->accept.done(&l->accept, IO_BATCH_END);
	assert_false(l->reserved);
	assert_int_equal(rate_room(&fe->rate, r->worker->loop.now_ns), 0);
	engine_set_rate_limit(e, fe, 0);
}

/* ---- places of a queue ---- */

/* As if it had just been chosen; the backend has places, so that it is granted one at once. */
static struct server *wait_and_be_granted(struct rig *r, struct session *s)
{
	session_comes_in(s, r->worker, first_endpoint(&r->engine));
	assert_non_null(session_extra(s));
	s->state = SESSION_QUEUED;
	s->extra->queued_ns = r->worker->loop.now_ns;
	assert_int_equal(queueing_enter(s, NULL, false), 0);
	assert_int_equal(s->extra->waiter.state, WAITER_GRANTED);
	return s->extra->waiter.server;
}

static void client_that_gives_up_its_place_at_a_removed_server_is_news_for_control(void **state)
{
	struct rig *r = *state;
	struct session *s;

	start_worker(r);
	s = session_slab_get(&r->worker->slab);
	assert_non_null(s);
	for (int is_removed = 0; is_removed < 2; is_removed++) {
		struct server *server = wait_and_be_granted(r, s);

		assert_int_equal(server->sessions, 1);
		server->in_roster = !is_removed;
		atomic_store(&news, 0);
		queueing_leave(s);
		assert_int_equal(server->sessions, 0);
		assert_int_equal(atomic_load(&news), is_removed);
		queueing_leave(s); /* it waits no more */
		assert_int_equal(atomic_load(&news), is_removed);
		server->in_roster = true;
		session_extra_put(s);
		session_goes_away(s);
	}
	s->state = SESSION_FREE;
	session_slab_put(&r->worker->slab, s);
}

#define WORKER_TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER_TEST(a_worker_without_memory_is_not_made),
		WORKER_TEST(an_order_to_end_sessions_needs_no_room_in_a_mailbox),
		WORKER_TEST(a_client_for_a_full_mailbox_is_served_here_and_counted),
		WORKER_TEST(an_order_goes_in_slices_and_spares_who_comes_after_it),
		WORKER_TEST(while_memory_is_short_clients_wait_until_it_is_over_or_a_drain_takes_them),
		WORKER_TEST(who_drains_leaves_the_endpoints_and_control_closes_them),
		WORKER_TEST(an_engine_that_did_not_start_can_be_started_again),
		WORKER_TEST(the_budget_of_buffers_holds_what_drivers_borrow_on_top),
		WORKER_TEST(a_lower_maxconn_closes_nothing_and_a_higher_one_wakes_who_waits),
		WORKER_TEST(a_frontend_s_own_maxconn_may_change_too),
		WORKER_TEST(clients_that_wait_for_a_rate_limit_come_in_when_it_goes),
		WORKER_TEST(clients_that_wait_for_the_process_s_rate_come_in_when_it_goes),
		WORKER_TEST(each_of_two_rates_holds),
		WORKER_TEST(no_change_of_a_limit_leaves_a_client_behind),
		WORKER_TEST(client_from_before_a_rate_limit_gives_no_place_of_it_back),
		WORKER_TEST(client_that_gives_up_its_place_at_a_removed_server_is_news_for_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
