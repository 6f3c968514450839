/* SPDX-License-Identifier: MIT
 *
 * test_user_access.c - what the user of a daemon is denied is found, and a test that fails is an error.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/host/user_access.h"
#include "../base/alloc_fail.h"

static bool pipe_fails, fork_fails;

int __real_pipe(int ends[2]);
int __wrap_pipe(int ends[2]);
pid_t __real_fork(void);
pid_t __wrap_fork(void);

int __wrap_pipe(int ends[2])
{
	errno = EMFILE;
	return pipe_fails ? -1 : __real_pipe(ends);
}

pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return fork_fails ? -1 : __real_fork();
}

/* A configuration with one thing of each kind, in a folder. */
struct world {
	struct config config;
	struct config_log log;
	struct config_frontend frontend;
	struct config_bind bind;
	char folder[32], file[64], log_path[64], user[32];
	char *files[1];
	char lines[8][USER_ACCESS_MAX];
	size_t count;
};

static void keep(void *arg, const char *line)
{
	struct world *w = arg;

	assert_true(w->count < 8);
	(void)snprintf(w->lines[w->count++], USER_ACCESS_MAX, "%s", line);
}

static void set_path(struct addr_spec *a, const char *folder, const char *name)
{
	a->kind = ADDR_UNIX;
	a->addr.len = sizeof(a->addr.un);
	a->addr.un.sun_family = AF_UNIX;
	(void)snprintf(a->addr.un.sun_path, sizeof(a->addr.un.sun_path), "%s/%s", folder, name);
}

static void set_up(struct world *w, mode_t folder_mode, mode_t file_mode)
{
	FILE *f;

	memset(w, 0, sizeof(*w));
	(void)snprintf(w->folder, sizeof(w->folder), "/tmp/weir-access-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	(void)snprintf(w->file, sizeof(w->file), "%s/weir.ini", w->folder);
	(void)snprintf(w->log_path, sizeof(w->log_path), "%s/log", w->folder);
	(void)snprintf(w->user, sizeof(w->user), "65534");
	f = fopen(w->file, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(w->file, file_mode), 0);
	assert_int_equal(chmod(w->folder, folder_mode), 0);
	w->files[0] = w->file;
	w->log = (struct config_log){.kind = CONFIG_LOG_FILE, .path = w->log_path};
	set_path(&w->bind.addr, w->folder, "web.sock");
	set_path(&w->config.global.admin, w->folder, "admin.sock");
	w->frontend.binds = &w->bind;
	w->frontend.bind_count = 1;
	w->config.frontends = &w->frontend;
	w->config.frontend_count = 1;
	w->config.global.logs = &w->log;
	w->config.global.log_count = 1;
	w->config.global.user = w->user;
	w->config.files = w->files;
	w->config.file_count = 1;
}

static void tear_down(struct world *w)
{
	assert_int_equal(unlink(w->file), 0);
	assert_int_equal(rmdir(w->folder), 0);
}

static size_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	assert_int_equal(closedir(d), 0);
	return n;
}

/* As before: no child, no descriptor, no memory. */
static int test(struct world *w)
{
	const size_t before = descriptors();
	const long memory = allocated;
	int err;

	w->count = 0;
	err = user_access_test(&w->config, keep, w);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(descriptors(), before);
	assert_int_equal(allocated, memory);
	return err;
}

static void needs_root(void)
{
	if (geteuid() != 0) {
		print_message("skipped: not root\n");
		skip();
	}
}

static void everything_that_is_denied_is_named(void **state)
{
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0755, 0600);
	assert_int_equal(test(&w), 0);
	assert_int_equal(w.count, 4);
	assert_non_null(strstr(w.lines[0], "user '65534' cannot read /tmp/weir-access-"));
	assert_non_null(strstr(w.lines[0], "/weir.ini: Permission denied; the daemon would start"));
	assert_non_null(strstr(w.lines[1], "cannot create the log file /tmp/weir-access-"));
	assert_non_null(strstr(w.lines[2], "/web.sock: Permission denied"));
	assert_non_null(strstr(w.lines[3], "/admin.sock: Permission denied"));
	tear_down(&w);
}

static void what_is_granted_is_not(void **state)
{
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0777, 0644);
	assert_int_equal(test(&w), 0);
	assert_int_equal(w.count, 0);
	tear_down(&w);
}

/* `check --probe` reports it: it is missing for everybody. */
static void what_is_missing_is_not_denied(void **state)
{
	char file[] = "/nowhere/weir.ini", log[] = "/nowhere/log";
	char *files[] = {file};
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0777, 0644);
	w.config.files = files;
	w.log.path = log;
	set_path(&w.bind.addr, "/nowhere", "web.sock");
	assert_int_equal(test(&w), 0);
	assert_int_equal(w.count, 0);
	tear_down(&w);
}

/* The parent folder counts, too: the file itself is readable. */
static void a_folder_that_is_closed_denies_all(void **state)
{
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0700, 0666);
	assert_int_equal(test(&w), 0);
	assert_int_equal(w.count, 4);
	tear_down(&w);
}

static void who_stays_root_is_denied_nothing(void **state)
{
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0700, 0600);
	w.config.global.user = NULL;
	assert_int_equal(test(&w), 0);
	(void)snprintf(w.user, sizeof(w.user), "0");
	w.config.global.user = w.user;
	assert_int_equal(test(&w), 0);
	assert_int_equal(w.count, 0);
	tear_down(&w);
}

static void a_test_that_fails_is_an_error(void **state)
{
	char unknown[] = "nobody-has-this-name";
	struct world w;

	(void)state;
	needs_root();
	set_up(&w, 0700, 0600);
	pipe_fails = true;
	assert_int_equal(test(&w), -EMFILE);
	pipe_fails = false;
	fork_fails = true;
	assert_int_equal(test(&w), -EAGAIN);
	fork_fails = false;
	w.config.global.user = unknown;
	assert_int_equal(test(&w), 0);
	w.config.global.user = w.user;
	fail_allocations_from(0);
	assert_int_equal(test(&w), -ENOMEM);
	fail_allocations_from(-1);
	assert_int_equal(w.count, 0);
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_is_denied_is_named),
		cmocka_unit_test(what_is_granted_is_not),
		cmocka_unit_test(what_is_missing_is_not_denied),
		cmocka_unit_test(a_folder_that_is_closed_denies_all),
		cmocka_unit_test(who_stays_root_is_denied_nothing),
		cmocka_unit_test(a_test_that_fails_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
