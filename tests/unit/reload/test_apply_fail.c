/* SPDX-License-Identifier: MIT
 *
 * test_apply_fail.c - plans of which each allocation and each system call fails in turn.
 *
 * A plan that is refused leaves everything as it was. One that takes effect all the same does so in full, and
 * the call is one of those that are known to do no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "apply_rig.h"
#include "weir/balance/run_time.h"
#include "weir/entry/halt.h"

#define CALLS_MAX 2000u

#define TIMES "timeout-connect = 10s\ntimeout-server = 10m\n"
#define FRONT "timeout-client = 10m\n"

#define LOG "log = file:/dev/null\n"

/* `waits` is a line with an address of `web`. */
#define BEFORE_WITH(waits) \
	"[global]\nuser = root\npipe-cycle = 100ms\nmaxconn = 500\n" LOG \
	"[frontend web]\nbind in = 127.0.0.1:0\nbind path = unix:FOLDER/web\nbind leaves = 127.0.0.2:0\n" \
	waits "default-backend = app\n" FRONT \
	"[frontend old]\nbind in = unix:FOLDER/passed\nbind tcp = 127.0.0.4:0\ndefault-backend = gone\n" \
	FRONT \
	"[frontend kept]\nbind in = 127.0.0.5:0\ndefault-backend = kept\n" \
	FRONT \
	"[backend app]\ncheck = tcp\ncheck-interval = 9m\nserver a = ECHO0\nserver b = ECHO1\n" \
	"server n = localhost:9\nserver e = ECHO5\n" \
	TIMES \
	"[backend gone]\nserver g = ECHO2\n" TIMES "[backend kept]\nserver k = ECHO3\n" TIMES
#define WAITS  "bind waits = 127.0.0.3:0\n"
#define BEFORE BEFORE_WITH(WAITS)

#define AFTER \
	"[global]\nuser = root\npipe-cycle = 200ms\nmaxconn = 400\nsplice = off\n" LOG \
	"[frontend web]\nbind in = 127.0.0.1:0 backlog=77\nbind path = unix:FOLDER/web mode=0600\n" \
	WAITS \
	"bind more = 127.0.0.6:0\ndefault-backend = new\ndscp = 8\n" \
	"use-backend app = dst-port=80\nmaxconn-per-source = 9\n" \
	FRONT \
	"[frontend kept]\nbind in = 127.0.0.5:0\ndefault-backend = kept\n" \
	FRONT \
	"[frontend fresh]\nbind in = unix:FOLDER/passed\nbind also = unix:FOLDER/fresh\n" \
	"bind tcp = 127.0.0.7:0\ndefault-backend = kept\n" \
	FRONT \
	"[backend app]\ncheck = tcp\ncheck-interval = 8m\nserver a = ECHO0 weight=9\n" \
	"server n = localhost:9\nserver c = ECHO4\nserver d = localhost:10\nserver e = ECHO5 weight=3\n" \
	TIMES \
	"[backend kept]\nserver k = ECHO3\nserver l = ECHO5\n" TIMES \
	"[backend new]\ncheck = tcp\ncheck-interval = 9m\nserver x = ECHO6\nserver y = ECHO7\n" TIMES

#define REST \
	"[frontend web]\nbind in = 127.0.0.1:0\ndefault-backend = app\n" FRONT \
	"[backend app]\nserver a = ECHO0\n" TIMES
#define BEFORE_LOGS "[global]\nuser = root\n" LOG "log = file:FOLDER/old.log\n" REST
#define AFTER_LOGS  "[global]\nuser = root\n" LOG "log = file:FOLDER/new.log\nlog = syslog:FOLDER/none\n" REST

/* Calls of a plan that takes effect though they fail, and at most how many of these it makes. */
static struct harmless {
	const char *function;
	unsigned most;
	const char *why;
	unsigned seen;
} harmless[] = {
	{"close", 40, "Linux has closed it by then", 0},
	{"socket", 7, "a preflight, or the source that the kernel would choose: it alone may fail", 0},
	{"setsockopt", 9, "of a socket that listens, in the commit: the log has it; a preflight", 0},
	{"open", 5, "the range of ports; the folder of a path, in the commit: the log has it", 0},
	{"openat", 1, "the same path", 0},
	{"fstat", 2, "the same path; a file of the log", 0},
	{"connect", 5, "the source that the kernel would choose; a syslog daemon that is missing", 0},
	{"getsockname", 4, "the source", 0},
	{"getsockopt", 9, "is it MPTCP, or can it be deaf? Then no", 0},
	{"fstatat", 6, "who has the lock's name, or the path: tried again, or bind(2) tells", 0},
	{"ioctl", 2, "the file of a Unix socket, which is then found by its name", 0},
	{"syscall", 2, "fchmodat2(2), which older kernels do not have", 0},
	{"listen", 1, "the length of a queue, in the commit: the log has it", 0},
};

static struct portrait was, is;

static bool is_harmless(const char *function)
{
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (strcmp(harmless[i].function, function) == 0)
			return ++harmless[i].seen <= harmless[i].most;
	return false;
}

static unsigned count_logs(void)
{
	unsigned n = 0;

	for (const struct log_outlet *o = NULL; (o = logwriter_next_target(rig.rig.log, o)) != NULL;)
		n++;
	return n;
}

/* Whatever is deaf need not be so for long. */
static void settle_soon(void)
{
	rig_turn(&rig.rig);
	(void)engine_wake(&rig.rig.engine, clock_mono_ns() + NS_PER_SEC);
	apply_settle();
}

static bool is_in_force(void)
{
	server_updates_foreach(&rig.rig.updates.updates, b)
		if (b->held)
			return false;
	return true;
}

/* What a target of the log has is freed by its thread, soon after. */
static bool is_freed(const struct rig_state *all)
{
	const int64_t end_ns = clock_mono_ns() + APPLY_WAIT_NS;
	struct rig_state now;

	do {
		rig_rest(&rig.rig, NS_PER_MS);
		rig_look(&rig.rig, &now);
	} while ((now.fds > all->fds || now.blocks > all->blocks) && clock_mono_ns() < end_ns);
	return (now.fds <= all->fds && now.blocks <= all->blocks) || rig_is_as(all, &now, 0);
}

static const char *after_first_line(const struct portrait *p)
{
	return p->text + strcspn(p->text, "\n");
}

/* But for the memory and the descriptors of this thread. */
static bool is_same_otherwise(void)
{
	if (strcmp(after_first_line(&was), after_first_line(&is)) != 0)
		return portrait_same(&was, &is);
	was.text[0] = is.text[0] = '\0';
	return portrait_same(&was, &is); /* the files */
}

struct attempt {
	const char *text; /* what is to take effect */
	unsigned nth;	  /* the call that fails */
	bool lasts;	  /* so do all that follow */
	bool logs;	  /* it changes targets of the log, and nothing else */
	/* How it went. */
	int err;
	const char *function; /* what has failed; NULL = nothing */
};

/* What is not in a portrait. */
struct count {
	struct rig_state all;
	unsigned logs, took_effect;
	const struct config *in_effect;
};

static struct count count(void)
{
	struct count c = {.logs = count_logs(),
			  .took_effect = rig.took_effect,
			  .in_effect = rig.rig.engine.config};

	rig_look(&rig.rig, &c.all);
	return c;
}

static bool is_as_before(const struct attempt *a, const struct count *before)
{
	const struct count now = count();
	const bool same = a->logs ? is_same_otherwise() && is_freed(&before->all) : portrait_same(&was, &is);

	return same && now.logs == before->logs && now.took_effect == before->took_effect &&
	       now.in_effect == before->in_effect;
}

/* Only the calls of the plan itself fail, not those of reading and of planning. */
static void try(struct attempt *a)
{
	const struct count before = count();
	struct plan p;

	rig.next = apply_read(a->text);
	assert_int_equal(apply_make_plan(&p), 0);
	portrait_draw(&was, &rig.rig, rig.folder);
	if (a->lasts)
		memory_fail_from(a->nth);
	else
		memory_fail(a->nth);
	a->err = apply_plan(&rig.parts, &p, NULL, rig.why, sizeof(rig.why));
	a->function = memory_fail_no_more();
	portrait_draw(&is, &rig.rig, rig.folder);
	plan_free(&p);
	apply_end(a->err);
	if (!a->err)
		return;
	if (a->function == NULL)
		fail_msg("refused without a failure: %s", rig.why);
	if (!is_as_before(a, &before))
		fail_msg("call %u (%s) left a trace; %s", a->nth, a->function, rig.why);
	if (strchr(rig.why, ':') == NULL)
		fail_msg("call %u (%s) has no reason: %s", a->nth, a->function, rig.why);
}

static void assert_after(void)
{
	assert_int_equal(rig.took_effect, 1);
	assert_null(live_frontend("old"));
	assert_null(live_backend("gone"));
	assert_null(live_server("app", "b"));
	assert_non_null(live_server("app", "d")->name);
	assert_non_null(live_server("new", "y")->probe);
	assert_int_equal(live_server("app", "a")->weight, 9);
	assert_true(addr_equal(server_addr(live_server("app", "a")), echo_addr(6)));
	assert_false(live_server("app", "c")->added);
	assert_int_equal(live_server("app", "e")->weight, 3);
	assert_true(list_empty(&live_backend("app")->tombstones));
	assert_int_equal(rig.rig.engine.limits.maxconn, 400);
	assert_null(live_endpoint("web", "leaves"));
	assert_non_null(live_endpoint("web", "more"));
	assert_int_equal(live_endpoint("web", "in")->config->backlog, 77);
}

/* At run time `c` is added, which AFTER names, and `a` moved; `e` is deleted, whose line AFTER changes. */
static void command_servers(void)
{
	static const struct mark me = {.wall_ns = 1, .by = 1000};
	struct server_updates *u = &rig.rig.updates.updates;
	struct server *e = live_server("app", "e"), *c = live_server("app", "c");
	struct config_server config = *live_server("app", "a")->config;

	(void)snprintf(config.name, sizeof(config.name), "c"); /* fits */
	config.addr.addr = *echo_addr(4);
	config.addr.kind = addr_is_unix(echo_addr(4)) ? ADDR_UNIX : ADDR_IP;
	config.addr.port = addr_port(echo_addr(4));
	if (c == NULL)
		assert_int_equal(run_time_add_server(u, live_backend("app"), &config, &me, &c), 0);
	assert_int_equal(run_time_set_addr(u, live_server("app", "a"), echo_addr(6), &me), 0);
	if (e == NULL)
		return;
	assert_int_equal(server_updates_set_admin(u, e, SERVER_ADMIN_MAINT, "by test"), 0);
	assert_int_equal(run_time_delete_server(u, e, &me), 0);
}

enum beginning {
	BEGIN_PLAIN,
	BEGIN_LEAVING, /* one of its addresses has just begun to leave */
	BEGIN_SHUT,    /* the frontend is shut down */
};

/* From BEFORE, whatever there is now. */
static void begin(enum beginning how)
{
	const struct mark by = mark_now(0);

	reload_fine(BEFORE);
	command_servers();
	settle_soon();
	if (how == BEGIN_LEAVING)
		reload_fine(BEFORE_WITH(""));
	if (how == BEGIN_SHUT) {
		entries_shut_down(&rig.rig.engine.entries, live_frontend("web"), &by, clock_mono_ns());
		settle_soon();
		assert_null(live_endpoint("web", "in"));
	}
	rig.took_effect = 0;
}

/* Is it still on its way? */
static bool is_leaving(void)
{
	frontend_foreach_endpoint(live_frontend("web"), ep) {
		if (strcmp(ep->config->name, "waits") == 0)
			return ep->stage != ENDPOINT_OPEN && endpoint_has_socket(ep);
	}
	return false;
}

/* Is everything in effect at the end of the turn, whatever fails there, and are clients served? */
static void end(const struct attempt *a)
{
	assert_after();
	if (a->lasts)
		memory_fail_all();
	server_updates_publish(&rig.rig.updates.updates);
	(void)memory_fail_no_more(); /* rosters must need none */
	assert_true(is_in_force());
	rig_turn(&rig.rig);
	assert_true(is_served(&live_endpoint("web", "in")->addr));
	assert_true(is_served(&live_endpoint("web", "waits")->addr));
	assert_true(is_served(&live_endpoint("fresh", "in")->addr));
}

static void fail_each(enum beginning how)
{
	struct attempt a = {.text = AFTER, .function = ""};
	unsigned refused = 0, last = 0;

	begin(how);
	for (; a.function != NULL; a.nth++) {
		assert_true(a.nth < CALLS_MAX);
		if (how == BEGIN_LEAVING && !is_leaving())
			begin(how);
		try(&a);
		if (a.err) {
			refused++;
			last = a.nth;
			continue;
		}
		if (a.function != NULL && !is_harmless(a.function))
			fail_msg("took effect, though call %u (%s) has failed", a.nth, a.function);
		end(&a);
		begin(how);
	}
	print_message("%u calls, of which %u refuse the plan\n", a.nth, refused);
	assert_true(refused > 120);
	/* Whatever comes after the last of these may fail: nothing of the commit can. */
	a = (struct attempt){.text = AFTER, .nth = last + 1, .lasts = true};
	try(&a);
	assert_int_equal(a.err, 0);
	assert_non_null(a.function);
	end(&a);
}

static void each_call_fails_in_turn(void **state)
{
	(void)state;
	fail_each(BEGIN_PLAIN);
}

static void each_call_fails_while_an_address_leaves(void **state)
{
	(void)state;
	fail_each(BEGIN_LEAVING);
}

static void each_call_fails_where_a_frontend_is_back_in_service(void **state)
{
	(void)state;
	fail_each(BEGIN_SHUT);
	assert_int_equal(live_frontend("web")->admin, FRONTEND_ADMIN_READY);
}

/* Alone, because what its threads free cannot be told from what else is freed. */
static void each_call_fails_where_only_the_log_changes(void **state)
{
	struct attempt a = {.text = AFTER_LOGS, .function = "", .logs = true};
	unsigned refused = 0;

	(void)state;
	reload_fine(BEFORE_LOGS);
	settle_soon();
	rig_rest(&rig.rig, 50 * NS_PER_MS);
	for (; a.function != NULL; a.nth++) {
		assert_true(a.nth < CALLS_MAX);
		try(&a);
		refused += a.err != 0;
		if (a.err)
			continue;
		if (a.function != NULL && !is_harmless(a.function))
			fail_msg("took effect, though call %u (%s) has failed", a.nth, a.function);
		assert_int_equal(count_logs(), 3);
		reload_fine(BEFORE_LOGS);
		assert_int_equal(count_logs(), 2);
		rig_rest(&rig.rig, 50 * NS_PER_MS);
	}
	print_message("%u calls, of which %u refuse the plan\n", a.nth, refused);
	assert_true(refused > 10);
}

static int set_up(void **state)
{
	(void)state;
	apply_rig_open(BEFORE);
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		harmless[i].seen = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	apply_rig_close();
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_fails_in_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_call_fails_while_an_address_leaves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_call_fails_where_a_frontend_is_back_in_service, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_call_fails_where_only_the_log_changes, set_up,
						tear_down),
	};

	const int skipped = apply_choose_driver(argc, argv);

	return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
