/* SPDX-License-Identifier: MIT
 *
 * test_fallback.c - where clients of a backend without servers go, and that those in its queue are let go.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/fallback.h"

#define BACKENDS 3
#define WORKERS	 70 /* more than are woken at once */

struct fixture {
	struct config_of_servers c[BACKENDS];
	struct backend *b[BACKENDS];
	struct queue_grants grants[WORKERS];
	unsigned woken[WORKERS];
};

static void wake(void *arg)
{
	++*(unsigned *)arg;
}

/* Each leads to the next. */
static void begin(struct fixture *f)
{
	static const unsigned weights[] = {1, 1};

	memset(f, 0, sizeof(*f));
	for (int i = 0; i < BACKENDS; i++) {
		config_of_servers_init(&f->c[i], weights, 2);
		f->c[i].servers[1].backup = true;
		f->c[i].backend.panic = true;
		if (i + 1 < BACKENDS)
			f->c[i].backend.fallback_backend = f->c[i + 1].backend.name;
		f->b[i] = backend_by_hand(&f->c[i].config);
		assert_non_null(f->b[i]);
	}
	for (int i = 0; i + 1 < BACKENDS; i++)
		backend_set_fallback(f->b[i], f->b[i + 1]);
	for (int i = 0; i < WORKERS; i++)
		queue_grants_init(&f->grants[i], wake, &f->woken[i]);
}

static void end(struct fixture *f)
{
	for (int i = 0; i < BACKENDS; i++)
		backend_by_hand_free(f->b[i]);
}

static void set_healthy(struct backend *b, int server, bool healthy)
{
	assert_int_equal(server_set_health(b->servers[server], healthy, "test", 1), 0);
}

static void all_down(struct backend *b)
{
	set_healthy(b, 0, false);
	set_healthy(b, 1, false);
}

static void the_first_backend_with_a_server_serves(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[0]);
	set_healthy(f.b[0], 0, false);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[0]); /* by its backup server */
	all_down(f.b[0]);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[1]);
	all_down(f.b[1]);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[2]);
	set_healthy(f.b[0], 1, true);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[0]);
	end(&f);
}

static void panic_applies_at_the_end_of_the_chain_only(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (int i = 0; i < BACKENDS; i++)
		all_down(f.b[i]);
	assert_int_equal(backend_roster(f.b[0])->count, 0);
	assert_int_equal(backend_roster(f.b[1])->count, 0);
	assert_int_equal(backend_roster(f.b[2])->count, 2);
	assert_ptr_equal(backend_serving(f.b[0]), f.b[2]);
	end(&f);
}

static void links_that_form_a_circle_for_a_moment_end(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	backend_set_fallback(f.b[1], f.b[0]);
	all_down(f.b[0]);
	all_down(f.b[1]);
	assert_non_null(backend_serving(f.b[0]));
	end(&f);
}

static int enter(struct fixture *f, struct waiter *w, int worker, bool stays)
{
	memset(w, 0, sizeof(*w));
	w->stays = stays;
	return queue_enter(f->b[0], w, NULL, &f->grants[worker]);
}

static void fill(struct backend *b)
{
	for (int i = 0; i < 2; i++) {
		atomic_store(&b->limited, true);
		atomic_store(&b->servers[i]->limit, 1);
		assert_true(server_enter(b->servers[i]));
	}
}

static void clients_that_wait_are_let_go_unless_they_stay(void **state)
{
	struct waiter w[2 * WORKERS], stays;
	struct fixture f;

	(void)state;
	begin(&f);
	fill(f.b[0]);
	assert_int_equal(enter(&f, &stays, 0, true), 0);
	for (int i = 0; i < 2 * WORKERS; i++)
		assert_int_equal(enter(&f, &w[i], i / 2, false), 0);
	set_healthy(f.b[0], 0, false);
	assert_null(queue_take_granted(&f.grants[0])); /* the backup server is full */
	all_down(f.b[0]);
	for (int i = 0; i < 2 * WORKERS; i++) {
		assert_int_equal(f.woken[i / 2] > 0, true);
		assert_ptr_equal(queue_take_granted(&f.grants[i / 2]), &w[i]);
		assert_null(w[i].server);
	}
	assert_int_equal(atomic_load(&f.b[0]->queue.waiting), 1);
	assert_null(queue_leave(&stays));
	for (int i = 0; i < 2; i++)
		server_leave(f.b[0]->servers[i]);
	end(&f);
}

static void nobody_begins_to_wait_where_nobody_serves(void **state)
{
	struct waiter w;
	struct fixture f;

	(void)state;
	begin(&f);
	all_down(f.b[0]);
	assert_int_equal(enter(&f, &w, 0, false), -EHOSTDOWN);
	assert_null(w.backend);
	assert_int_equal(enter(&f, &w, 0, true), 0);
	assert_null(queue_leave(&w));
	/* A grant that is not taken leaves nothing behind. */
	backend_set_fallback(f.b[0], NULL);
	assert_int_equal(enter(&f, &w, 0, false), 0);
	backend_set_fallback(f.b[0], f.b[1]);
	queue_rearrange(f.b[0]);
	assert_int_equal(w.state, WAITER_GRANTED);
	assert_null(queue_leave(&w));
	assert_null(queue_take_granted(&f.grants[0]));
	assert_int_equal(atomic_load(&f.b[0]->queue.waiting), 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_backend_with_a_server_serves),
		cmocka_unit_test(panic_applies_at_the_end_of_the_chain_only),
		cmocka_unit_test(links_that_form_a_circle_for_a_moment_end),
		cmocka_unit_test(clients_that_wait_are_let_go_unless_they_stay),
		cmocka_unit_test(nobody_begins_to_wait_where_nobody_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
