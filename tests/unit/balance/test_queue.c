/* SPDX-License-Identifier: MIT
 *
 * test_queue.c - who waits for a place at a server: in order, exactly, and nobody for ever. The last two let
 * four threads at it: worth most under the thread sanitizer.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"

#define SERVERS 3
#define LIMIT 2u

struct fixture {
	struct config_of_servers c;
	struct backend *b;
	struct queue_grants grants;
	atomic_int woken;
};

static const unsigned weights[SERVERS] = {1, 1, 1};

static void wake(void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->woken, 1);
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	config_of_servers_init(&f->c, weights, SERVERS);
	for (int i = 0; i < SERVERS; i++)
		f->c.servers[i].maxconn = LIMIT;
	queue_grants_init(&f->grants, wake, f);
}

static void start(struct fixture *f)
{
	f->b = backend_by_hand(&f->c.config);
	assert_non_null(f->b);
}

static struct server *server(const struct fixture *f, int i)
{
	return f->b->servers[i];
}

static void fill(struct fixture *f)
{
	for (int i = 0; i < SERVERS; i++)
		for (unsigned k = 0; k < LIMIT; k++)
			assert_true(server_enter(server(f, i)));
}

/* Every place of every server is taken. */
static void begin_full(struct fixture *f)
{
	begin(f);
	start(f);
	fill(f);
}

static void enter(struct fixture *f, struct waiter *w, struct server *s)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(queue_enter(f->b, w, s, &f->grants), 0);
}

/* Its last connect, to `s`, has failed. */
static void enter_but(struct fixture *f, struct waiter *w, struct server *s)
{
	memset(w, 0, sizeof(*w));
	w->avoid = s;
	assert_int_equal(queue_enter(f->b, w, NULL, &f->grants), 0);
}

static void set_failing(struct server *s)
{
	atomic_store(&s->failing, 1);
}

/* The next who was given a place must be `w`, at `s`. */
static void assert_granted(struct fixture *f, const struct waiter *w, const struct server *s)
{
	const struct waiter *given = queue_take_granted(&f->grants);

	assert_ptr_equal(given, w);
	assert_ptr_equal(given->server, s);
	assert_int_equal(given->state, WAITER_NONE);
}

static void set_chosen(struct server *s, bool chosen)
{
	atomic_store(&s->in_roster, chosen);
	queue_rearrange(s->owner);
}

/* Everybody has gone: nothing is counted any more. */
static void end(struct fixture *f)
{
	assert_null(queue_take_granted(&f->grants));
	assert_int_equal(atomic_load(&f->b->queue.waiting), 0);
	assert_int_equal(atomic_load(&f->b->queue.waiting_any), 0);
	assert_int_equal(atomic_load(&f->b->queue.avoiding), 0);
	assert_true(list_empty(&f->b->queue.avoided));
	for (int i = 0; i < SERVERS; i++) {
		assert_int_equal(atomic_load(&server(f, i)->queued), 0);
		while (atomic_load(&server(f, i)->sessions) > 0)
			server_leave(server(f, i));
		assert_int_equal(atomic_load(&server(f, i)->sessions), 0);
	}
	backend_by_hand_free(f->b);
}

static void a_free_place_goes_to_the_oldest_of_both_queues(void **state)
{
	struct fixture f;
	struct waiter w[5];

	(void)state;
	begin_full(&f);
	enter(&f, &w[0], server(&f, 1));
	enter(&f, &w[1], NULL);
	enter(&f, &w[2], server(&f, 0));
	enter(&f, &w[3], NULL);
	enter(&f, &w[4], server(&f, 1));
	assert_null(queue_take_granted(&f.grants));
	assert_true(queue_is_waiting(f.b));
	server_leave(server(&f, 0)); /* w[0] came first, but waits for another */
	assert_granted(&f, &w[1], server(&f, 0));
	server_leave(server(&f, 0));
	assert_granted(&f, &w[2], server(&f, 0));
	server_leave(server(&f, 1));
	assert_granted(&f, &w[0], server(&f, 1));
	server_leave(server(&f, 1));
	assert_granted(&f, &w[3], server(&f, 1));
	assert_false(queue_is_waiting(f.b));
	server_leave(server(&f, 2)); /* nobody waits for this one or for any */
	assert_null(queue_take_granted(&f.grants));
	server_leave(server(&f, 1));
	assert_granted(&f, &w[4], server(&f, 1));
	assert_int_equal(f.woken, 5);
	end(&f);
}

static void a_place_that_is_given_is_taken_before_the_worker_hears_of_it(void **state)
{
	struct fixture f;
	struct waiter w;

	(void)state;
	begin_full(&f);
	enter(&f, &w, server(&f, 2));
	server_leave(server(&f, 2));
	assert_int_equal(atomic_load(&server(&f, 2)->sessions), LIMIT);
	assert_false(server_enter(server(&f, 2)));
	assert_int_equal(w.state, WAITER_GRANTED);
	assert_granted(&f, &w, server(&f, 2));
	assert_null(w.backend);
	end(&f);
}

static void a_place_that_came_free_before_the_wait_began_is_found(void **state)
{
	struct fixture f;
	struct waiter w[2];

	(void)state;
	begin_full(&f);
	server_leave(server(&f, 1)); /* after the choice, before the wait */
	enter(&f, &w[0], NULL);
	assert_granted(&f, &w[0], server(&f, 1));
	server_leave(server(&f, 0));
	enter(&f, &w[1], server(&f, 0));
	assert_granted(&f, &w[1], server(&f, 0));
	end(&f);
}

static void who_leaves_while_waiting_is_passed_over(void **state)
{
	struct fixture f;
	struct waiter w[3];

	(void)state;
	begin_full(&f);
	enter(&f, &w[0], NULL);
	enter(&f, &w[1], server(&f, 0));
	enter(&f, &w[2], NULL);
	queue_leave(&w[0]);
	queue_leave(&w[1]);
	queue_leave(&w[1]); /* twice is harmless */
	assert_int_equal(atomic_load(&f.b->queue.waiting), 1);
	server_leave(server(&f, 0));
	assert_granted(&f, &w[2], server(&f, 0));
	end(&f);
}

static void who_leaves_with_a_place_gives_it_to_the_next(void **state)
{
	struct fixture f;
	struct waiter w[3];

	(void)state;
	begin_full(&f);
	for (int i = 0; i < 3; i++)
		enter(&f, &w[i], NULL);
	server_leave(server(&f, 0));
	queue_leave(&w[0]);
	queue_leave(&w[1]);
	assert_granted(&f, &w[2], server(&f, 0));
	assert_int_equal(atomic_load(&server(&f, 0)->sessions), LIMIT);
	end(&f);
}

static void full_queues_refuse(void **state)
{
	struct fixture f;
	struct waiter w[5];

	(void)state;
	begin(&f);
	f.c.backend.maxqueue = 4;
	f.c.servers[1].maxqueue = 1;
	start(&f);
	fill(&f);
	enter(&f, &w[0], server(&f, 1));
	memset(&w[1], 0, sizeof(w[1]));
	assert_int_equal(queue_enter(f.b, &w[1], server(&f, 1), &f.grants), -EBUSY);
	assert_int_equal(w[1].state, WAITER_NONE);
	assert_null(w[1].backend);
	enter(&f, &w[1], server(&f, 2));
	enter(&f, &w[2], NULL);
	enter(&f, &w[3], NULL);
	memset(&w[4], 0, sizeof(w[4]));
	assert_int_equal(queue_enter(f.b, &w[4], NULL, &f.grants), -EBUSY);
	assert_int_equal(queue_enter(f.b, &w[4], server(&f, 0), &f.grants), -EBUSY);
	queue_leave(&w[4]); /* harmless: it does not wait */
	queue_leave(&w[2]);
	enter(&f, &w[4], NULL);
	assert_int_equal(atomic_load(&f.b->queue.waiting_max), 4);
	assert_int_equal(atomic_load(&server(&f, 1)->queued_max), 1);
	assert_int_equal(w[0].before, 0);
	assert_int_equal(w[3].before, 1);
	assert_true(w[0].at_server);
	assert_false(w[3].at_server);
	for (int i = 0; i < 5; i++)
		queue_leave(&w[i]);
	end(&f);
}

static void who_waits_for_a_server_that_goes_waits_for_any_in_order_of_arrival(void **state)
{
	struct fixture f;
	struct waiter w[6];

	(void)state;
	begin_full(&f);
	enter(&f, &w[0], NULL);
	enter(&f, &w[1], server(&f, 0));
	enter(&f, &w[2], server(&f, 1));
	enter(&f, &w[3], NULL);
	enter(&f, &w[4], server(&f, 0));
	enter(&f, &w[5], server(&f, 1));
	set_chosen(server(&f, 0), false);
	assert_int_equal(atomic_load(&server(&f, 0)->queued), 0);
	assert_int_equal(atomic_load(&f.b->queue.waiting_any), 4);
	assert_int_equal(atomic_load(&f.b->queue.waiting), 6);
	server_leave(server(&f, 0)); /* no place for anybody: it takes no new ones */
	assert_null(queue_take_granted(&f.grants));
	for (int i = 0; i < 6; i++) {
		server_leave(server(&f, 1));
		assert_granted(&f, &w[i], server(&f, 1));
	}
	end(&f);
}

static void who_picked_a_server_that_has_gone_since_waits_for_any(void **state)
{
	struct fixture f;
	struct waiter w;

	(void)state;
	begin_full(&f);
	set_chosen(server(&f, 0), false);
	enter(&f, &w, server(&f, 0));
	assert_int_equal(atomic_load(&f.b->queue.waiting_any), 1);
	server_leave(server(&f, 2));
	assert_granted(&f, &w, server(&f, 2));
	end(&f);
}

static void a_server_that_comes_back_serves_who_waits(void **state)
{
	struct fixture f;
	struct waiter w[3];

	(void)state;
	begin(&f);
	start(&f);
	for (int i = 0; i < SERVERS; i++)
		set_chosen(server(&f, i), false);
	for (int i = 0; i < 3; i++)
		enter(&f, &w[i], NULL);
	assert_null(queue_take_granted(&f.grants));
	set_chosen(server(&f, 2), true);
	assert_granted(&f, &w[0], server(&f, 2));
	assert_granted(&f, &w[1], server(&f, 2));
	assert_null(queue_take_granted(&f.grants)); /* two is its limit */
	queue_leave(&w[2]);
	end(&f);
}

static void a_limit_that_rises_serves_who_waits(void **state)
{
	struct fixture f;
	struct waiter w[4];

	(void)state;
	begin_full(&f);
	for (int i = 0; i < 4; i++)
		enter(&f, &w[i], server(&f, 1));
	assert_int_equal(server_set_maxconn(server(&f, 1), LIMIT + 1, "by test", 1), 0);
	assert_granted(&f, &w[0], server(&f, 1));
	assert_null(queue_take_granted(&f.grants));
	assert_int_equal(server_set_maxconn(server(&f, 1), 0, "by test", 1), 0); /* no limit any more */
	for (int i = 1; i < 4; i++)
		assert_granted(&f, &w[i], server(&f, 1));
	end(&f);
}

static void a_limit_that_falls_lets_nobody_in_until_it_is_reached(void **state)
{
	struct fixture f;
	struct waiter w;

	(void)state;
	begin_full(&f);
	enter(&f, &w, server(&f, 0));
	assert_int_equal(server_set_maxconn(server(&f, 0), 1, "by test", 1), 0);
	server_leave(server(&f, 0)); /* one is left, and one is the limit */
	assert_null(queue_take_granted(&f.grants));
	server_leave(server(&f, 0));
	assert_granted(&f, &w, server(&f, 0));
	end(&f);
}

/* ---- one server is avoided ---- */

static void who_avoids_a_server_gets_the_first_place_at_any_other(void **state)
{
	struct fixture f;
	struct waiter w[4];

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	enter_but(&f, &w[0], server(&f, 0));
	enter(&f, &w[1], server(&f, 1));
	enter(&f, &w[2], NULL);
	enter_but(&f, &w[3], server(&f, 0));
	assert_true(queue_is_waiting(f.b));
	server_leave(server(&f, 0)); /* w[0] came first, and passes it over */
	assert_granted(&f, &w[2], server(&f, 0));
	server_leave(server(&f, 0));
	assert_null(queue_take_granted(&f.grants));
	server_leave(server(&f, 1));
	assert_granted(&f, &w[0], server(&f, 1));
	server_leave(server(&f, 1));
	assert_granted(&f, &w[1], server(&f, 1));
	server_leave(server(&f, 2));
	assert_granted(&f, &w[3], server(&f, 2));
	end(&f);
}

static void however_many_avoid_a_server_who_came_after_them_gets_its_place(void **state)
{
	struct fixture f;
	struct waiter w[300];
	struct waiter last;

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	for (int i = 0; i < 300; i++)
		enter_but(&f, &w[i], server(&f, 0));
	server_leave(server(&f, 0));
	assert_null(queue_take_granted(&f.grants));
	enter(&f, &last, NULL); /* the place is free since then */
	assert_granted(&f, &last, server(&f, 0));
	assert_int_equal(last.before, 300);
	for (int i = 0; i < 300; i++)
		queue_leave(&w[i]);
	end(&f);
}

static void who_avoids_one_of_two_waits_behind_older_ones_that_avoid_the_other(void **state)
{
	struct fixture f;
	struct waiter w[3];

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	set_failing(server(&f, 1));
	enter_but(&f, &w[0], server(&f, 1));
	enter_but(&f, &w[1], server(&f, 0));
	enter_but(&f, &w[2], server(&f, 1));
	queue_leave(&w[0]);
	server_leave(server(&f, 2));
	assert_granted(&f, &w[1], server(&f, 2));
	server_leave(server(&f, 0));
	assert_granted(&f, &w[2], server(&f, 0));
	end(&f);
}

static void a_server_that_has_answered_is_avoided_no_more(void **state)
{
	struct fixture f;
	struct waiter w[4];

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	enter_but(&f, &w[0], server(&f, 0));
	enter(&f, &w[1], NULL);
	enter_but(&f, &w[2], server(&f, 0));
	server_leave(server(&f, 0));
	assert_granted(&f, &w[1], server(&f, 0));
	server_leave(server(&f, 0));
	server_leave(server(&f, 0));
	assert_null(queue_take_granted(&f.grants));
	server_answered(server(&f, 0));
	assert_int_equal(atomic_load(&server(&f, 0)->failing), 0);
	assert_granted(&f, &w[0], server(&f, 0));
	assert_granted(&f, &w[2], server(&f, 0));
	enter_but(&f, &w[3], server(&f, 0)); /* it has answered since that failure */
	assert_int_equal(atomic_load(&f.b->queue.avoiding), 0);
	server_leave(server(&f, 0));
	assert_granted(&f, &w[3], server(&f, 0));
	end(&f);
}

static void a_server_that_has_left_and_come_back_is_avoided_no_more(void **state)
{
	struct fixture f;
	struct waiter w[4];

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	enter_but(&f, &w[0], server(&f, 0));
	enter(&f, &w[1], NULL);
	enter_but(&f, &w[2], server(&f, 0));
	set_chosen(server(&f, 0), false);
	enter_but(&f, &w[3], server(&f, 0)); /* it is not there to be avoided */
	assert_int_equal(atomic_load(&f.b->queue.avoiding), 0);
	set_chosen(server(&f, 0), true);
	for (int i = 0; i < 4; i++) {
		server_leave(server(&f, 0));
		assert_granted(&f, &w[i], server(&f, 0));
	}
	end(&f);
}

static void the_only_server_is_not_avoided(void **state)
{
	struct fixture f;
	struct waiter w;

	(void)state;
	begin_full(&f);
	set_failing(server(&f, 0));
	set_chosen(server(&f, 1), false);
	enter_but(&f, &w, server(&f, 0));
	server_leave(server(&f, 0));
	assert_null(queue_take_granted(&f.grants));
	set_chosen(server(&f, 2), false);
	assert_granted(&f, &w, server(&f, 0));
	end(&f);
}

/* ---- four threads ---- */

#define THREADS 4
#define SLOTS 12 /* of one thread: more than there are places, so that it waits also while others sleep */
#define GRANTS 25000 /* that each thread waits for */
#define PATIENCE_S 60

enum slot_state { SLOT_FREE, SLOT_WAITS, SLOT_SERVED };

/* One client of a thread. */
struct slot {
	struct waiter w;
	enum slot_state state;
	struct server *server; /* served at */
	bool any;              /* began to wait for any */
};

struct crowd;

struct member {
	_Alignas(64) struct crowd *crowd;
	struct queue_grants grants;
	atomic_int woken;
	uint32_t random;
	uint64_t granted;
	uint64_t last_any; /* 1 + number of the last of the backend's queue that was granted here */
	struct slot slots[SLOTS];
};

struct crowd {
	struct fixture f;
	struct member members[THREADS];
	atomic_int busy[SERVERS]; /* the test's own count */
	atomic_int working;       /* members that have not ended */
	bool is_changing;         /* servers go and come */
	pthread_barrier_t barrier;
};

static struct crowd crowd;

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1103515245u + 12345u;
	return *random >> 16;
}

static void wake_member(void *arg)
{
	struct member *m = arg;

	atomic_fetch_add(&m->woken, 1);
}

static void served(struct member *m, struct slot *slot, struct server *s)
{
	slot->state = SLOT_SERVED;
	slot->server = s;
	check((unsigned)atomic_fetch_add(&m->crowd->busy[s->id - 1], 1) < LIMIT);
}

static void go(struct member *m, struct slot *slot)
{
	struct server *s = slot->server;

	atomic_fetch_sub(&m->crowd->busy[s->id - 1], 1);
	server_leave(s);
	slot->state = SLOT_FREE;
}

static void come(struct member *m, struct slot *slot)
{
	struct backend *b = m->crowd->f.b;
	struct server *s = b->servers[next_random(&m->random) % SERVERS];

	if (!queue_is_waiting(b) && atomic_load(&s->in_roster) && server_enter(s)) {
		served(m, slot, s);
		return;
	}
	if (next_random(&m->random) % 4 != 0)
		s = NULL;
	slot->w.avoid = NULL;
	if (next_random(&m->random) % 4 == 0)
		slot->w.avoid = b->servers[next_random(&m->random) % SERVERS];
	slot->any = s == NULL && slot->w.avoid == NULL;
	slot->state = SLOT_WAITS;
	check(queue_enter(b, &slot->w, s, &m->grants) == 0);
}

/* Whoever waits in the backend's queue came after everyone who has left it: told by the list itself. */
static void check_order(struct member *m, const struct slot *slot)
{
	struct queue *q = &m->crowd->f.b->queue;

	if (!slot->any)
		return;
	check(m->last_any <= slot->w.number);
	m->last_any = slot->w.number + 1;
	if (m->crowd->is_changing)
		return; /* older ones may come from other queues */
	spinlock_lock(&q->lock);
	if (!list_empty(&q->any))
		check(list_entry(q->any.next, struct waiter, link)->number > slot->w.number);
	spinlock_unlock(&q->lock);
}

static void take_up(struct member *m)
{
	struct waiter *w;

	if (atomic_exchange(&m->woken, 0) == 0)
		return;
	while ((w = queue_take_granted(&m->grants)) != NULL) {
		struct slot *slot = container_of(w, struct slot, w);

		check(slot->state == SLOT_WAITS);
		check_order(m, slot);
		m->granted++;
		served(m, slot, w->server);
	}
}

static void step(struct member *m)
{
	struct slot *slot = &m->slots[next_random(&m->random) % SLOTS];

	take_up(m);
	switch (slot->state) {
	case SLOT_FREE:
		come(m, slot);
		break;
	case SLOT_WAITS:
		if (next_random(&m->random) % 16 == 0) {
			queue_leave(&slot->w); /* granted or not */
			slot->state = SLOT_FREE;
		}
		break;
	case SLOT_SERVED:
		go(m, slot);
		break;
	}
}

static unsigned count_slots(const struct member *m, enum slot_state state)
{
	unsigned n = 0;

	for (int i = 0; i < SLOTS; i++)
		n += m->slots[i].state == state;
	return n;
}

/* Nobody new comes, and nobody loses patience: all who wait must be served. */
static void finish(struct member *m)
{
	const time_t limit = time(NULL) + PATIENCE_S;

	while (count_slots(m, SLOT_FREE) < SLOTS) {
		take_up(m);
		for (int i = 0; i < SLOTS; i++)
			if (m->slots[i].state == SLOT_SERVED)
				go(m, &m->slots[i]);
		check(time(NULL) < limit); /* else somebody waits for ever */
		(void)sched_yield();
	}
}

static void *mix(void *arg)
{
	const time_t limit = time(NULL) + PATIENCE_S;
	struct member *m = arg;

	(void)pthread_barrier_wait(&m->crowd->barrier); /* one of them is told so, which does not matter */
	for (unsigned i = 0; m->granted < GRANTS; i++) {
		step(m);
		if (i % 64 != 0)
			continue;
		check(time(NULL) < limit);
		(void)sched_yield(); /* others may hold all places: let them go on */
	}
	finish(m);
	atomic_fetch_sub(&m->crowd->working, 1);
	return NULL;
}

/* Control: servers go and come, answer and fail; at the end all are there. */
static void change_servers(void)
{
	uint32_t random = 99;

	while (atomic_load(&crowd.working) > 0) {
		struct server *s = crowd.f.b->servers[next_random(&random) % SERVERS];

		set_chosen(s, false);
		(void)sched_yield();
		set_chosen(s, true);
		(void)sched_yield();
		s = crowd.f.b->servers[next_random(&random) % SERVERS];
		server_answered(s);
		(void)sched_yield();
		set_failing(s);
	}
}

static void run_crowd(bool is_changing)
{
	pthread_t threads[THREADS];
	uint64_t granted = 0;

	memset(&crowd, 0, sizeof(crowd));
	begin(&crowd.f);
	start(&crowd.f);
	for (int i = 0; i < SERVERS; i++)
		set_failing(server(&crowd.f, i));
	crowd.is_changing = is_changing;
	atomic_store(&crowd.working, THREADS);
	assert_int_equal(pthread_barrier_init(&crowd.barrier, NULL, THREADS), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		struct member *m = &crowd.members[i];

		m->crowd = &crowd;
		m->random = i * 7919u + 1;
		queue_grants_init(&m->grants, wake_member, m);
		assert_int_equal(pthread_create(&threads[i], NULL, mix, m), 0);
	}
	if (is_changing)
		change_servers();
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(list_empty(&crowd.members[i].grants.waiters));
		granted += crowd.members[i].granted;
	}
	assert_int_equal(pthread_barrier_destroy(&crowd.barrier), 0);
	assert_true(granted >= THREADS * GRANTS);
	for (int i = 0; i < SERVERS; i++) {
		assert_int_equal(atomic_load(&crowd.busy[i]), 0);
		assert_int_equal(atomic_load(&server(&crowd.f, i)->sessions), 0);
	}
	end(&crowd.f);
}

static void many_threads_keep_order_and_limit_and_lose_nobody(void **state)
{
	(void)state;
	run_crowd(false);
}

static void many_threads_lose_nobody_while_servers_go_and_come(void **state)
{
	(void)state;
	run_crowd(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_place_goes_to_the_oldest_of_both_queues),
		cmocka_unit_test(a_place_that_is_given_is_taken_before_the_worker_hears_of_it),
		cmocka_unit_test(a_place_that_came_free_before_the_wait_began_is_found),
		cmocka_unit_test(who_leaves_while_waiting_is_passed_over),
		cmocka_unit_test(who_leaves_with_a_place_gives_it_to_the_next),
		cmocka_unit_test(full_queues_refuse),
		cmocka_unit_test(who_waits_for_a_server_that_goes_waits_for_any_in_order_of_arrival),
		cmocka_unit_test(who_picked_a_server_that_has_gone_since_waits_for_any),
		cmocka_unit_test(a_server_that_comes_back_serves_who_waits),
		cmocka_unit_test(a_limit_that_rises_serves_who_waits),
		cmocka_unit_test(a_limit_that_falls_lets_nobody_in_until_it_is_reached),
		cmocka_unit_test(who_avoids_a_server_gets_the_first_place_at_any_other),
		cmocka_unit_test(however_many_avoid_a_server_who_came_after_them_gets_its_place),
		cmocka_unit_test(who_avoids_one_of_two_waits_behind_older_ones_that_avoid_the_other),
		cmocka_unit_test(a_server_that_has_answered_is_avoided_no_more),
		cmocka_unit_test(a_server_that_has_left_and_come_back_is_avoided_no_more),
		cmocka_unit_test(the_only_server_is_not_avoided),
		cmocka_unit_test(many_threads_keep_order_and_limit_and_lose_nobody),
		cmocka_unit_test(many_threads_lose_nobody_while_servers_go_and_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
