/* SPDX-License-Identifier: MIT
 *
 * test_writer_targets.c - log targets that come and go: what goes loses nothing and holds up nobody.
 */
#include <stdatomic.h>
#include <sys/stat.h>

#include "logging/log_outlets.h"
#include "weir/sys/sys.h"
#include "weir/sys/low_fds.h"
#include "writer_rig.h"

/* ---- a disk that hangs ---- */

static atomic_bool disk_hangs;

ssize_t __real_sys_write(int fd, const void *from, size_t len);
ssize_t __wrap_sys_write(int fd, const void *from, size_t len);

ssize_t __wrap_sys_write(int fd, const void *from, size_t len)
{
	while (len > sizeof(uint64_t) && atomic_load(&disk_hangs)) /* not an eventfd */
		(void)poll(NULL, 0, 1);
	return __real_sys_write(fd, from, len);
}

static void added_target_gets_lines_and_needs_its_configuration_no_more(void **state)
{
	struct rig *r = *state;
	char path[64];
	struct config_log c = r->configs[1];
	struct log_outlet *o;

	memcpy(path, r->paths[1], sizeof(path));
	c.path = path;
	c.level = LOG_LEVEL_DEBUG;
	log_line(LOG_LEVEL_INFO, "before");
	while (lines_in(r->paths[0]) == 0)
		turn(r);
	o = add(r, &c);
	memset(path, 'x', sizeof(path) - 1);
	memset(&c, 0, sizeof(c));
	log_line(LOG_LEVEL_DEBUG, "after"); /* only the new one wants it */
	wait_line(r, 1, "Z debug after\n");
	assert_null(strstr(text_of(r->paths[1]), "before"));
	assert_ptr_equal(logwriter_next_target(r->writer, r->first), o);
	assert_false(logwriter_target_is(o, &r->configs[1]));
	r->configs[1].level = LOG_LEVEL_DEBUG;
	assert_true(logwriter_target_is(o, &r->configs[1]));
	assert_false(logwriter_target_is(o, &r->configs[0]));
	r->configs[1].kind = CONFIG_LOG_STDERR;
	assert_false(logwriter_target_is(o, &r->configs[1]));
	assert_int_equal(lines_in(r->paths[0]), 1);
}

/* Two targets with formats, one of which needs counts. */
static void formats_of_targets_are_told_apart(void **state)
{
	struct rig *r = *state;
	char text[] = "text", plain[] = "{client}", counting[] = "{client} {%ac}";
	struct log_outlet *o;

	r->configs[0].format = text; /* the default by its name */
	assert_true(logwriter_target_is(r->first, &r->configs[0]));
	r->configs[1].format = counting;
	assert_false(log_wants_counts());
	o = add(r, &r->configs[1]);
	assert_true(log_wants_counts());
	assert_true(logwriter_target_is(o, &r->configs[1]));
	r->configs[1].format = plain;
	assert_false(logwriter_target_is(o, &r->configs[1]));
	r->configs[1].format = NULL;
	assert_false(logwriter_target_is(o, &r->configs[1]));
	/* Lines that are not of sessions are those of format=text. */
	log_line(LOG_LEVEL_INFO, "a sentence");
	wait_line(r, 1, "Z info a sentence\n");
	logwriter_remove_target(r->writer, o);
	assert_false(log_wants_counts());
	wait_targets(r, 1);
}

#define CROWD 30

static unsigned growths;

static int on_growth(unsigned count, int end)
{
	(void)count;
	(void)end;
	growths++;
	return 0;
}

/* Its number is that of no placeholder of the start, when none was reserved for it. */
static void syslog_that_is_added_reserves_a_descriptor_for_itself(void **state)
{
	struct rig *r = *state;
	struct config_log c = {.kind = CONFIG_LOG_SYSLOG, .level = LOG_LEVEL_INFO};
	struct log_outlet *o[3];
	int crowd[CROWD];
	int err;

	assert_int_equal(addr_parse("127.0.0.1:9", &c.address, NULL, NULL), 0);
	low_fds_on_growth(on_growth);
	growths = 0;
	assert_true(low_fds_hold(0) > 0);
	for (int i = 0; i < CROWD; i++)
		crowd[i] = dup(STDIN_FILENO);
	for (unsigned i = 0; i < 3; i++) {
		o[i] = logwriter_open_target(&c, &err);
		assert_non_null(o[i]);
		assert_int_equal(logwriter_prepare_target(r->writer, o[i]), 0);
	}
	assert_int_equal(growths, 1 + 3);
	for (unsigned i = 0; i < 3; i++)
		logwriter_undo_target(r->writer, o[i]);
	o[0] = add(r, &c);
	assert_int_equal(growths, 1 + 3 + 1); /* an undone one gives back what it reserved */
	logwriter_remove_target(r->writer, o[0]);
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
	for (int i = 0; i < 3; i++)
		turn(r);
	low_fds_free();
}

static void undone(struct rig *r, struct config_log *c, bool is_prepared)
{
	int err;
	struct log_outlet *o = logwriter_open_target(c, &err);

	assert_non_null(o);
	assert_int_equal(access(c->path, F_OK), 0);
	if (is_prepared)
		assert_int_equal(logwriter_prepare_target(r->writer, o), 0);
	logwriter_undo_target(r->writer, o);
}

static void file_that_was_made_for_an_undone_target_goes_if_it_is_empty(void **state)
{
	struct rig *r = *state;
	struct config_log *c = &r->configs[1];
	struct log_outlet *o;
	FILE *f;
	int err;

	for (int is_prepared = 0; is_prepared < 2; is_prepared++) {
		undone(r, c, is_prepared);
		assert_int_equal(access(c->path, F_OK), -1);
	}
	/* Somebody has written to it, or put another in its place. */
	o = logwriter_open_target(c, &err);
	f = fopen(c->path, "a");
	assert_true(f != NULL && fputs("mine\n", f) >= 0 && fclose(f) == 0);
	logwriter_undo_target(r->writer, o);
	assert_int_equal(access(c->path, F_OK), 0);
	assert_int_equal(unlink(c->path), 0);
	o = logwriter_open_target(c, &err);
	assert_int_equal(rename(c->path, r->paths[2]), 0);
	f = fopen(c->path, "w");
	assert_true(f != NULL && fclose(f) == 0);
	logwriter_undo_target(r->writer, o);
	assert_int_equal(access(c->path, F_OK), 0);
	assert_int_equal(access(r->paths[2], F_OK), 0);
	undone(r, c, true); /* it was there before */
	assert_int_equal(access(c->path, F_OK), 0);
	assert_int_equal(unlink(c->path), 0);
	/* Another target has it. */
	o = logwriter_open_target(c, &err);
	(void)add(r, c);
	logwriter_undo_target(r->writer, o);
	assert_int_equal(access(c->path, F_OK), 0);
}

/* ---- removing ---- */

static void removed_target_has_the_lines_from_before_and_is_freed(void **state)
{
	struct rig *r = *state;
	struct log_outlet *o;

	r->configs[1].level = LOG_LEVEL_DEBUG;
	o = add(r, &r->configs[1]);
	for (int i = 0; i < 1000; i++)
		log_line(LOG_LEVEL_DEBUG, "line %d", i);
	logwriter_remove_target(r->writer, o);
	assert_false(log_wants(LOG_LEVEL_DEBUG)); /* nobody else wanted that much */
	log_line(LOG_LEVEL_INFO, "after");
	wait_targets(r, 1);
	wait_line(r, 0, "after\n");
	assert_int_equal(lines_in(r->paths[1]), 1000);
	assert_null(strstr(text_of(r->paths[1]), "after"));
	assert_int_equal(logwriter_dropped(r->writer), 0);
	assert_ptr_equal(logwriter_next_target(r->writer, NULL), r->first);
	assert_null(logwriter_next_target(r->writer, r->first));
}

static void target_whose_disk_hangs_is_removed_without_waiting(void **state)
{
	struct rig *r = *state;
	struct log_outlet *o = add(r, &r->configs[1]);
	struct log_mark mark;
	int64_t begin_ns;
	uint64_t lost;
	size_t made = 0;

	/* Both hang, so that the ring is full too. */
	atomic_store(&disk_hangs, true);
	while (logwriter_dropped(r->writer) == 0) {
		for (int i = 0; i < 1000; i++, made++)
			log_line(LOG_LEVEL_INFO, "line %zu, as long as a line of a log may be", made);
		for (int i = 0; i < 100 && !log_ring_is_read_to(r->ring, log_ring_written(r->ring)); i++)
			turn(r);
	}
	begin_ns = clock_mono_ns();
	logwriter_remove_target(r->writer, o);
	assert_true(clock_mono_ns() - begin_ns < 10 * NS_PER_SEC); /* it hangs for ever */
	logwriter_mark(r->writer, &mark);
	while (!logwriter_has_read(r->writer, &mark))
		turn(r);
	lost = logwriter_dropped(r->writer);
	assert_int_equal(logwriter_dropped_slow(r->writer), lost);
	atomic_store(&disk_hangs, false);
	wait_targets(r, 1);
	assert_int_equal(logwriter_dropped(r->writer), lost); /* the counts did not fall */
	assert_int_equal(logwriter_dropped_slow(r->writer), lost);
	/* What had room before the removal has been written. */
	assert_true(lines_in(r->paths[1]) > 10000);
	assert_true(lines_in(r->paths[1]) < made);
}

static void counts_of_a_removed_target_stay(void **state)
{
	struct rig *r = *state;
	char full[] = "/dev/full";
	struct config_log c = {.kind = CONFIG_LOG_FILE, .path = full, .level = LOG_LEVEL_INFO};
	struct log_outlet *o = add(r, &c);

	for (int i = 0; i < 5; i++)
		log_line(LOG_LEVEL_INFO, "line %d", i);
	wait_line(r, 0, "line 4\n");
	logwriter_remove_target(r->writer, o);
	wait_targets(r, 1);
	assert_int_equal(logwriter_dropped(r->writer), 5);
	assert_int_equal(logwriter_dropped_slow(r->writer), 0);
	wait_line(r, 0, "Z warning 5 log lines were lost: the removed target /dev/full refused them, or");
}

static void removed_target_does_not_wait_for_the_reader_of_its_pipe_for_ever(void **state)
{
	struct rig *r = *state;
	struct log_outlet *o;
	size_t read_lines = 0;
	char text[4096];
	ssize_t n;
	int reader;

	assert_int_equal(mkfifo(r->paths[1], 0600), 0);
	reader = open(r->paths[1], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	r->fds++;
	o = add(r, &r->configs[1]);
	for (int i = 0; i < 2000; i++)
		log_line(LOG_LEVEL_INFO, "line %d, which is as long as a line of a log may be", i);
	logwriter_remove_target(r->writer, o);
	for (int i = 0; i < 100; i++)
		turn(r);
	assert_true(count_entries("/proc/self/task") > r->threads); /* it waits, and nobody for it */
	ev_feed_event(r->loop, &o->patience, EV_TIMER); /* half a minute later */
	wait_targets(r, 1);
	while ((n = read(reader, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			read_lines += text[i] == '\n';
	assert_true(read_lines > 0);
	assert_int_equal(read_lines + logwriter_dropped(r->writer), 2000);
	assert_int_equal(logwriter_dropped_slow(r->writer), logwriter_dropped(r->writer));
	close(reader);
}

static void without_any_target_lines_are_discarded(void **state)
{
	struct rig *r = *state;
	struct log_mark mark;

	logwriter_remove_target(r->writer, r->first);
	assert_null(logwriter_next_target(r->writer, NULL));
	log_line(LOG_LEVEL_ALERT, "to nobody");
	logwriter_mark(r->writer, &mark);
	while (!logwriter_has_read(r->writer, &mark))
		turn(r);
	(void)add(r, &r->configs[1]);
	log_line(LOG_LEVEL_INFO, "to the new one");
	wait_line(r, 1, "to the new one\n");
	assert_int_equal(lines_in(r->paths[1]), 1);
	assert_int_equal(logwriter_dropped(r->writer), 0);
}

static void end_of_the_writer_ends_what_leaves(void **state)
{
	struct rig *r = *state;
	struct log_outlet *o = add(r, &r->configs[1]);

	atomic_store(&disk_hangs, true);
	log_line(LOG_LEVEL_INFO, "line");
	logwriter_remove_target(r->writer, o);
	assert_false(logwriter_flush(r->writer, 20));
	atomic_store(&disk_hangs, false);
	assert_true(logwriter_flush(r->writer, 10000));
	assert_int_equal(lines_in(r->paths[1]), 1);
}

/* ---- rotation ---- */

static size_t count_of(const char *path, const char *what)
{
	size_t n = 0;

	for (const char *at = text_of(path); (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

static void a_newcomer_changes_no_count_of_rotations(void **state)
{
	struct rig *r = *state;
	const char *told = "SIGUSR1: log files opened again\n";
	struct log_outlet *o;

	logwriter_reopen(r->writer);
	wait_line(r, 0, told);
	o = add(r, &r->configs[1]);
	log_line(LOG_LEVEL_INFO, "in between");
	wait_line(r, 1, "in between");
	assert_int_equal(count_of(r->paths[0], told), 1);
	logwriter_reopen(r->writer);
	wait_line(r, 1, told);
	assert_int_equal(count_of(r->paths[1], told), 1);
	while (count_of(r->paths[0], told) < 2)
		turn(r);
	/* One that hangs before it has opened its file is waited for only until it goes. */
	atomic_store(&disk_hangs, true);
	log_line(LOG_LEVEL_INFO, "hangs");
	logwriter_remove_target(r->writer, r->first);
	logwriter_reopen(r->writer);
	(void)add(r, &r->configs[2]);
	logwriter_remove_target(r->writer, o);
	atomic_store(&disk_hangs, false);
	wait_line(r, 2, told);
	wait_targets(r, 1);
	assert_int_equal(count_of(r->paths[2], told), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(added_target_gets_lines_and_needs_its_configuration_no_more),
		TEST(formats_of_targets_are_told_apart),
		TEST(syslog_that_is_added_reserves_a_descriptor_for_itself),
		TEST(file_that_was_made_for_an_undone_target_goes_if_it_is_empty),
		TEST(removed_target_has_the_lines_from_before_and_is_freed),
		TEST(target_whose_disk_hangs_is_removed_without_waiting),
		TEST(counts_of_a_removed_target_stay),
		TEST(removed_target_does_not_wait_for_the_reader_of_its_pipe_for_ever),
		TEST(without_any_target_lines_are_discarded),
		TEST(end_of_the_writer_ends_what_leaves),
		TEST(a_newcomer_changes_no_count_of_rotations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
