/* SPDX-License-Identifier: MIT
 *
 * test_admin_reload.c - the command `reload`: the wish, and its answer, which comes later and in parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "admin_rig.h"

/* Who takes wishes, in the place of the daemon. */
static struct list wishes;
static unsigned asked_times, forgotten_times;

static void ask(void *arg, struct reload_wish *wish)
{
	assert_ptr_equal(arg, &wishes);
	assert_true(list_empty(&wish->link));
	list_push_back(&wishes, &wish->link);
	asked_times++;
}

static void forget(void *arg, struct reload_wish *wish)
{
	assert_ptr_equal(arg, &wishes);
	assert_false(list_empty(&wish->link));
	list_remove(&wish->link);
	forgotten_times++;
}

static void show(void *arg, struct text *out, struct json *json)
{
	assert_ptr_equal(arg, &wishes);
	if (json == NULL) {
		text_printf(out, "generation 1\n");
		return;
	}
	json_array(json, NULL);
	json_array_end(json);
}

static const struct reload_asker asker = {.ask = ask, .forget = forget, .show = show, .arg = &wishes};

static int setup(void **state)
{
	list_init(&wishes);
	asked_times = 0;
	forgotten_times = 0;
	if (rig_open(state) != 0)
		return -1;
	rig.context.reload = &asker;
	return 0;
}

static struct reload_wish *first_wish(void)
{
	assert_false(list_empty(&wishes));
	return list_entry(wishes.next, struct reload_wish, link);
}

/* The daemon answers. */
static void tell(struct reload_wish *wish, const char *text, bool last)
{
	if (last)
		list_remove(&wish->link);
	wish->answer(wish, text, last);
}

/* A client whose wish has been taken. */
static int client_that_wished(const char *line)
{
	const unsigned before = asked_times;
	const double until = ev_time() + WAIT_S;
	const int fd = connect_client();

	say(fd, "@weir ");
	say(fd, line);
	while (asked_times == before) {
		(void)ev_run(rig.loop, EVRUN_NOWAIT);
		assert_true(ev_time() < until);
	}
	return fd;
}

static void assert_no_byte_yet(int fd)
{
	char byte;

	turn();
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void the_answer_comes_later(void **state)
{
	char out[4096];
	const int fd = client_that_wished("reload\n");

	(void)state;
	assert_false(first_wish()->wait);
	assert_no_byte_yet(fd);
	tell(first_wish(), "weir.ini:3: warning\nreloaded: nothing has changed\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "weir.ini:3: warning\nreloaded: nothing has changed\n");
	assert_int_equal(asked_times, 1);
	assert_int_equal(forgotten_times, 0);
	assert_int_equal(served(), 0);
}

static void each_part_is_written_as_it_comes(void **state)
{
	char out[4096];
	const int fd = client_that_wished("reload wait\n");

	(void)state;
	assert_true(first_wish()->wait);
	tell(first_wish(), "reloaded: 1 server removed\n", false);
	hear_until(fd, "removed\n", out, sizeof(out));
	assert_no_byte_yet(fd);
	/* Two at once, before the loop has looked. */
	tell(first_wish(), "one\n", false);
	tell(first_wish(), "two\n", false);
	hear_until(fd, "one\ntwo\n", out, sizeof(out));
	assert_no_byte_yet(fd);
	tell(first_wish(), "retired: nothing of the earlier configuration is left\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "retired: nothing of the earlier configuration is left\n");
	assert_int_equal(forgotten_times, 0);
}

static void the_last_part_may_be_empty(void **state)
{
	char out[4096];
	const int fd = client_that_wished("reload wait\n");

	(void)state;
	tell(first_wish(), "reloaded: all\n", false);
	hear_until(fd, "all\n", out, sizeof(out));
	tell(first_wish(), "", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "");
}

static void words_become_a_wish(void **state)
{
	const int trial = client_that_wished("reload hold confirm=1m30s\n");
	const struct reload_wish *wish = first_wish();

	(void)state;
	assert_int_equal(wish->kind, WISH_RELOAD);
	assert_int_equal(wish->confirm_ns, 90 * NS_PER_SEC);
	assert_true(wish->hold);
	assert_false(wish->wait);
	assert_int_equal(wish->uid, getuid());
	close(trial);
	tell(first_wish(), "", true);
	close(client_that_wished("rollback 17\n"));
	assert_int_equal(first_wish()->kind, WISH_ROLLBACK);
	assert_int_equal(first_wish()->to, 17);
	assert_int_equal(first_wish()->confirm_ns, 0);
	tell(first_wish(), "", true);
	close(client_that_wished("rollback\n"));
	assert_int_equal(first_wish()->to, 0);
	tell(first_wish(), "", true);
	close(client_that_wished("confirm file\n"));
	assert_int_equal(first_wish()->kind, WISH_CONFIRM);
	assert_true(first_wish()->file);
	tell(first_wish(), "", true);
	close(client_that_wished("confirm\n"));
	assert_false(first_wish()->file);
	tell(first_wish(), "", true);
	turn();
}

static void a_plan_may_be_of_another_file(void **state)
{
	const long before = allocated;
	char out[4096];
	int fd = client_that_wished("plan json\n");

	(void)state;
	assert_int_equal(first_wish()->kind, WISH_PLAN);
	assert_null(first_wish()->path);
	assert_true(first_wish()->json);
	tell(first_wish(), "{}\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "{}\n");
	fd = client_that_wished("plan /etc/other.ini\n");
	assert_string_equal(first_wish()->path, "/etc/other.ini");
	assert_false(first_wish()->json);
	tell(first_wish(), "would change: no\n", true);
	hear(fd, out, sizeof(out));
	fd = client_that_wished("plan /etc/other.ini\n");
	tell(first_wish(), "a part\n", false);
	close(fd);
	while (forgotten_times == 0)
		(void)ev_run(rig.loop, EVRUN_NOWAIT);
	turn();
	assert_int_equal(served(), 0);
	assert_int_equal(allocated, before);
}

static void only_who_is_trusted_has_another_file_read(void **state)
{
	const long before = allocated;
	char out[4096];
	int fd = connect_client();

	(void)state;
	turn();
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		rig.admin->clients[i].peer.trusted = false;
	say(fd, "@weir plan /etc/shadow\n");
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "not planned: only root and weir's own user may have another file read; "
				 "leave out the file\n");
	assert_int_equal(asked_times, 0);
	assert_int_equal(allocated, before);
}

static void generations_come_from_who_takes_wishes(void **state)
{
	char out[4096];
	int fd = connect_client();

	(void)state;
	say(fd, "@weir show generations\n");
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "generation 1\n");
	fd = connect_client();
	say(fd, "@weir show generations json\n");
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "[]\n");
	rig.context.reload = NULL;
	fd = connect_client();
	say(fd, "@weir show generations\n");
	hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "error: there are no generations in the state '"));
}

static void others_are_served_meanwhile(void **state)
{
	char out[16384];
	const int fd = client_that_wished("reload\n");
	const int other = connect_client();

	(void)state;
	say(other, "@weir help\n");
	hear(other, out, sizeof(out));
	assert_non_null(strstr(out, "\nreload [wait] [confirm=TIME [hold]] "));
	assert_no_byte_yet(fd);
	tell(first_wish(), "reloaded: all\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "reloaded: all\n");
}

static void several_wait_at_a_time(void **state)
{
	char out[4096];
	int fds[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		fds[i] = client_that_wished("reload\n");
	assert_int_equal(asked_times, 3);
	while (!list_empty(&wishes))
		tell(first_wish(), "reloaded: all\n", true);
	for (int i = 0; i < 3; i++) {
		hear(fds[i], out, sizeof(out));
		assert_string_equal(out, "reloaded: all\n");
	}
}

static void commands_of_a_line_wait_for_the_reload(void **state)
{
	char out[4096];
	const int fd = client_that_wished("one; reload wait; two\n");

	(void)state;
	hear_until(fd, "try help\n\n", out, sizeof(out));
	assert_no_byte_yet(fd);
	tell(first_wish(), "reloaded: all\n", false);
	tell(first_wish(), "retired: all\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "reloaded: all\nretired: all\n\nerror: unknown command 'two'; try help\n");
}

static void a_prompt_follows_the_answer(void **state)
{
	char out[4096];
	const int fd = client_that_wished("prompt; reload\n");

	(void)state;
	hear_until(fd, "\n", out, sizeof(out)); /* of `prompt` */
	say(fd, "quit\n"); /* it waits its turn */
	assert_no_byte_yet(fd);
	tell(first_wish(), "not reloaded: busy\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "not reloaded: busy\n\n> ");
}

/* As `echo reload | nc -N` does. */
static void a_client_may_end_its_side(void **state)
{
	const double until = ev_time() + 0.3;
	char out[4096];
	int fd;

	(void)state;
	rig.admin->gone_s = 0.05;
	fd = client_that_wished("reload\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	while (ev_time() < until)
		(void)ev_run(rig.loop, EVRUN_ONCE);
	assert_int_equal(forgotten_times, 0);
	tell(first_wish(), "reloaded: all\n", true);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "reloaded: all\n");
}

static void a_client_that_has_gone_is_forgotten(void **state)
{
	const double until = ev_time() + WAIT_S;
	int fd;

	(void)state;
	rig.admin->gone_s = 0.05;
	fd = client_that_wished("reload\n");
	say(fd, "more\n"); /* and unread bytes */
	close(fd);
	while (forgotten_times == 0) {
		(void)ev_run(rig.loop, EVRUN_NOWAIT);
		assert_true(ev_time() < until);
	}
	assert_true(list_empty(&wishes));
	assert_int_equal(served(), 0);
}

/* Noticed when it is answered; the wish is forgotten after the answer, not from within. */
static void a_client_that_has_gone_gets_no_more_parts(void **state)
{
	const int fd = client_that_wished("reload wait\n");

	(void)state;
	close(fd);
	tell(first_wish(), "reloaded: all\n", false);
	assert_int_equal(forgotten_times, 0);
	turn();
	assert_int_equal(forgotten_times, 1);
	assert_int_equal(served(), 0);
}

/* The time that an answer may take begins again. */
static void a_reload_may_take_longer_than_an_answer(void **state)
{
	const double until = ev_time() + 0.3;
	static char part[1 << 20], out[2 << 20]; /* more than a socket takes at once */
	int fd;

	(void)state;
	rig.admin->answer_s = 0.1;
	rig.admin->gone_s = 0.05;
	fd = client_that_wished("one; reload\n");
	while (ev_time() < until)
		(void)ev_run(rig.loop, EVRUN_ONCE);
	rig.admin->answer_s = ADMIN_ANSWER_S;
	memset(part, 'x', sizeof(part) - 2);
	part[sizeof(part) - 2] = '\n';
	tell(first_wish(), part, true);
	turn();
	hear(fd, out, sizeof(out));
	assert_string_equal(strstr(out, "\n\n") + 2, part);
}

/* More than a socket takes: a part comes while another is being written. */
static void a_slow_reader_gets_all_parts(void **state)
{
	static char part[1 << 20], out[4 << 20];
	const int fd = client_that_wished("reload wait\n");
	size_t len;

	(void)state;
	memset(part, 'x', sizeof(part) - 2);
	part[sizeof(part) - 2] = '\n';
	for (int i = 0; i < 3; i++) {
		tell(first_wish(), part, i == 2);
		turn();
	}
	hear(fd, out, sizeof(out));
	len = strlen(out);
	assert_int_equal(len, 3 * strlen(part));
	assert_string_equal(out + 2 * strlen(part), part);
}

static void without_memory_for_a_part_the_client_is_told(void **state)
{
	static char part[1 << 16];
	char out[4096];
	const int fd = client_that_wished("reload wait\n");

	(void)state;
	memset(part, 'x', sizeof(part) - 1);
	tell(first_wish(), "warning\n", false);
	fail_allocations_from(0);
	tell(first_wish(), part, false);
	fail_allocations_from(-1);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "warning\nerror: no memory for the answer\n");
	assert_int_equal(forgotten_times, 1);
	assert_true(list_empty(&wishes));
}

static void without_a_taker_the_answer_comes_at_once(void **state)
{
	char out[4096];
	const int fd = connect_client();

	(void)state;
	rig.context.reload = NULL;
	rig.context.state = DAEMON_STOPPING;
	say(fd, "@weir reload\n");
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "not reloaded: the daemon takes no reload in its state 'stopping'\n");
	assert_int_equal(asked_times, 0);
}

static void words_after_the_command_are_checked(void **state)
{
	static const char *const lines[] = {
		"@weir reload now\n", "@weir reload wait now\n", "@weir reload json\n",
		"@weir reload hold\n",
		"@weir reload confirm=60\n", "@weir reload confirm=0\n", "@weir reload confirm=25h\n",
		"@weir reload confirm=999ms\n",
		"@weir reload wait confirm=60s hold\n"};
	static const char *const others[] = {"@weir rollback 0\n", "@weir rollback x\n",
					     "@weir confirm all\n"};
	char out[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const int fd = connect_client();

		say(fd, lines[i]);
		hear(fd, out, sizeof(out));
		assert_string_equal(out, "error: usage: 'reload [wait] [confirm=TIME [hold]]'\n");
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const int fd = connect_client();

		say(fd, others[i]);
		hear(fd, out, sizeof(out));
		assert_non_null(strstr(out, "error: usage: '"));
	}
	assert_int_equal(asked_times, 0);
}

static void it_requires_level_admin(void **state)
{
	const struct admin_peer peer = {.uid = 7, .level = CONFIG_ADMIN_OPERATOR, .ours = true};
	struct admin_question question;
	struct text out;

	(void)state;
	text_init(&out);
	assert_int_equal(admin_command(&rig.context, &peer, "reload", &out, &question), ADMIN_ANSWERED);
	assert_non_null(strstr(out.bytes, "error: uid 7 may not use 'reload' on this socket"));
	text_free(&out);
}

static void the_end_of_the_daemon_forgets_all_wishes(void **state)
{
	const int one = client_that_wished("reload\n");
	const int two = client_that_wished("reload wait\n");

	(void)state;
	tell(first_wish(), "reloaded: all\n", false);
	admin_free(rig.admin);
	rig.admin = NULL;
	assert_int_equal(forgotten_times, 2);
	assert_true(list_empty(&wishes));
	close(one);
	close(two);
}

#define RELOAD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RELOAD_TEST(the_answer_comes_later),
		RELOAD_TEST(each_part_is_written_as_it_comes),
		RELOAD_TEST(the_last_part_may_be_empty),
		RELOAD_TEST(words_become_a_wish),
		RELOAD_TEST(a_plan_may_be_of_another_file),
		RELOAD_TEST(only_who_is_trusted_has_another_file_read),
		RELOAD_TEST(generations_come_from_who_takes_wishes),
		RELOAD_TEST(others_are_served_meanwhile),
		RELOAD_TEST(several_wait_at_a_time),
		RELOAD_TEST(commands_of_a_line_wait_for_the_reload),
		RELOAD_TEST(a_prompt_follows_the_answer),
		RELOAD_TEST(a_client_may_end_its_side),
		RELOAD_TEST(a_client_that_has_gone_is_forgotten),
		RELOAD_TEST(a_client_that_has_gone_gets_no_more_parts),
		RELOAD_TEST(a_reload_may_take_longer_than_an_answer),
		RELOAD_TEST(a_slow_reader_gets_all_parts),
		RELOAD_TEST(without_memory_for_a_part_the_client_is_told),
		RELOAD_TEST(without_a_taker_the_answer_comes_at_once),
		RELOAD_TEST(words_after_the_command_are_checked),
		RELOAD_TEST(it_requires_level_admin),
		RELOAD_TEST(the_end_of_the_daemon_forgets_all_wishes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
