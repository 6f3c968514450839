/* SPDX-License-Identifier: MIT
 *
 * test_writer_failures.c - a log target that cannot be added leaves nothing behind, whatever fails.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "logging/log_out.h"
#include "weir/base/file.h"
#include "weir/base/thread.h"
#include "weir/sys/sys.h"
#include "writer_rig.h"

/* More than adding a target needs. */
#define CALLS_MAX 100

/* ---- calls that fail ---- */

static int calls_left = -1; /* -1 = as many as there are */

static bool may_succeed(void)
{
	if (calls_left == 0) {
		calls_left = -1; /* it fails once */
		return false;
	}
	if (calls_left > 0)
		calls_left--;
	return true;
}

void *__real_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
char *__real_strdup(const char *text);
int __real_file_open(const char *path, int flags, mode_t mode, bool *made);
void __real_log_out_init(struct log_out *o, int fd);
int __real_socket(int family, int type, int protocol);
int __real_sys_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __real_sys_eventfd(void);
int __real_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
char *__wrap_strdup(const char *text);
int __wrap_file_open(const char *path, int flags, mode_t mode, bool *made);
void __wrap_log_out_init(struct log_out *o, int fd);
int __wrap_socket(int family, int type, int protocol);
int __wrap_sys_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_sys_eventfd(void);
int __wrap_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

void *__wrap_calloc(size_t count, size_t size)
{
	return may_succeed() ? __real_calloc(count, size) : NULL;
}

void *__wrap_malloc(size_t size)
{
	return may_succeed() ? __real_malloc(size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return may_succeed() ? __real_strdup(text) : NULL;
}

int __wrap_file_open(const char *path, int flags, mode_t mode, bool *made)
{
	return may_succeed() ? __real_file_open(path, flags, mode, made) : -EMFILE;
}

/* As if fstat(2) failed. */
void __wrap_log_out_init(struct log_out *o, int fd)
{
	__real_log_out_init(o, fd);
	if (!may_succeed())
		o->kind = LOG_OUT_NONE;
}

int __wrap_socket(int family, int type, int protocol)
{
	if (may_succeed())
		return __real_socket(family, type, protocol);
	errno = EMFILE;
	return -1;
}

int __wrap_sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return may_succeed() ? __real_sys_connect(fd, sa, len) : -ENOMEM;
}

int __wrap_sys_eventfd(void)
{
	return may_succeed() ? __real_sys_eventfd() : -EMFILE;
}

int __wrap_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	return may_succeed() ? __real_thread_start(thread, run, arg) : -EAGAIN;
}

/* ---- adding ---- */

/* True if it succeeded; then it is undone too. */
static bool try_to_add(struct rig *r, const struct config_log *c)
{
	struct log_outlet *o;
	int err;

	o = logwriter_open_target(c, &err);
	if (o == NULL) {
		assert_true(err < 0);
		return false;
	}
	err = logwriter_prepare_target(r->writer, o);
	logwriter_undo_target(r->writer, o);
	return err == 0;
}

/* Each call of it fails in turn; how many of them were its failure. */
static int fail_each_call(struct rig *r, const struct config_log *c)
{
	int failures = 0;

	for (int i = 0; i < CALLS_MAX; i++) {
		bool failed, added;

		calls_left = i;
		added = try_to_add(r, c);
		failed = calls_left < 0;
		calls_left = -1;
		failures += !added;
		assert_true(added || failed);
		wait_targets(r, 1);
		assert_ptr_equal(logwriter_next_target(r->writer, NULL), r->first);
		assert_null(logwriter_next_target(r->writer, r->first));
		assert_false(log_wants(LOG_LEVEL_DEBUG));
		assert_int_equal(logwriter_dropped(r->writer), 0);
		if (!failed)
			return failures;
	}
	fail_msg("more calls than expected");
	return 0;
}

static char own_format[] = "{client} {%ac}";

static void whatever_fails_in_adding_a_file_leaves_nothing_behind(void **state)
{
	struct rig *r = *state;

	r->configs[1].level = LOG_LEVEL_DEBUG;
	r->configs[1].format = own_format;
	/* The outlet, its path and format, the file, its kind; the thread's memory, path, file, eventfd, and
	 * itself. */
	assert_int_equal(fail_each_call(r, &r->configs[1]), 10);
	assert_false(log_wants_counts());
	log_line(LOG_LEVEL_INFO, "still there");
	wait_line(r, 0, "still there\n");
	assert_int_equal(lines_in(r->paths[1]), 0);
}

static void whatever_fails_in_adding_a_syslog_leaves_nothing_behind(void **state)
{
	struct rig *r = *state;
	struct config_log c = {.kind = CONFIG_LOG_SYSLOG, .level = LOG_LEVEL_DEBUG};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un *un = &c.address.addr.un;

	c.address.kind = ADDR_UNIX;
	un->sun_family = AF_UNIX;
	(void)snprintf(un->sun_path, sizeof(un->sun_path), "%s", r->paths[1]);
	c.address.addr.len = sizeof(*un);
	assert_int_equal(bind(fd, &c.address.addr.sa, c.address.addr.len), 0);
	r->fds++;
	assert_int_equal(fail_each_call(r, &c), 3); /* the outlet, the socket, its connection */
	close(fd);
	r->fds--;
	assert_int_equal(unlink(r->paths[1]), 0);
	/* A daemon that is not there is no failure. */
	assert_true(try_to_add(r, &c));
	wait_targets(r, 1);
}

static void target_that_was_only_opened_can_be_undone(void **state)
{
	struct rig *r = *state;
	int err;

	logwriter_undo_target(r->writer, logwriter_open_target(&r->configs[1], &err));
	wait_targets(r, 1);
	r->paths[1][0] = '\0';
	assert_null(logwriter_open_target(&r->configs[1], &err));
	assert_int_equal(err, -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whatever_fails_in_adding_a_file_leaves_nothing_behind),
		TEST(whatever_fails_in_adding_a_syslog_leaves_nothing_behind),
		TEST(target_that_was_only_opened_can_be_undone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
