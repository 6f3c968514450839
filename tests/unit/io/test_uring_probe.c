/* SPDX-License-Identifier: MIT
 *
 * test_uring_probe.c - whether a ring can be had is answered truly, in words that help, and leaves nothing.
 *
 * Over the real kernel: each refusal is seen in a child of its own, under a seccomp filter or a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/io/uring.h"

#define DISABLED "/proc/sys/kernel/io_uring_disabled"
#define TIMES	 200

static char why_not[URING_WHY_MAX]; /* there is no ring on this machine at all; "" = there is */

/* ---- children ---- */

/* From now on the system call `number` ends with `err`. */
static int forbid(long number, int err)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {ARRAY_LEN(rules), rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ? -errno : 0;
}

/* Of one who starts (0 workers), or who only asks. */
static void probe(unsigned workers, char why[static URING_WHY_MAX])
{
	if (workers > 0) {
		const int err = uring_rehearse(workers, why, URING_WHY_MAX);

		check((err == 0) == (why[0] == '\0') && err <= 0);
	} else if (uring_driver(why, URING_WHY_MAX) != NULL) {
		why[0] = '\0';
	}
}

/* Runs `prepare` and then the probe in a child; its words, "" when there is a driver, and NULL when `prepare`
 * could not be done, which then prints why. */
static const char *asked_for(unsigned workers, int (*prepare)(const void *arg), const void *arg)
{
	static char why[URING_WHY_MAX];
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const int err = prepare(arg);

		if (err) {
			print_message("cannot be tried here: %s\n", strerror(-err));
			_exit(2);
		}
		probe(workers, why);
		_exit(write(ends[1], why, strlen(why) + 1) < 0);
	}
	close(ends[1]);
	n = read(ends[0], why, sizeof(why));
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		return NULL;
	assert_int_equal(status, 0);
	assert_true(n > 0);
	print_message("%s\n", why);
	return why;
}

static const char *asked(int (*prepare)(const void *arg), const void *arg)
{
	return asked_for(0, prepare, arg);
}

struct refusal {
	long number;
	int err;
	const char *words;
};

static int refuse(const void *arg)
{
	const struct refusal *r = arg;

	return forbid(r->number, r->err);
}

/* ---- what the kernel and its filters answer ---- */

static void each_refusal_has_its_words(void **state)
{
	static const struct refusal rows[] = {
	    {SYS_io_uring_setup, ENOSYS, "built without it"},
	    {SYS_io_uring_setup, EPERM, "SystemCallFilter="},
	    {SYS_io_uring_setup, EACCES, "a security module"},
	    {SYS_io_uring_setup, ENOMEM, "no memory"},
	    {SYS_io_uring_setup, EMFILE, "LimitNOFILE="},
	    {SYS_io_uring_setup, ENFILE, "fs.file-max"},
	    {SYS_io_uring_setup, EINVAL, "6.1 or later"},
	    {SYS_io_uring_setup, EIO, "Input/output error"},
	};

	(void)state;
	if (why_not[0] != '\0')
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why = asked(refuse, &rows[i]);

		assert_non_null(why);
		assert_non_null(strstr(why, rows[i].words));
		assert_in_range(strlen(why), 1, URING_WHY_MAX - 2); /* nothing was cut */
	}
}

static void an_old_kernel_is_named(void **state)
{
	const struct refusal r = {SYS_io_uring_setup, EINVAL, NULL};
	struct utsname name;
	const char *why;

	(void)state;
	if (why_not[0] != '\0')
		skip();
	why = asked(refuse, &r);
	assert_int_equal(uname(&name), 0);
	assert_non_null(why);
	assert_non_null(strstr(why, name.release));
	assert_non_null(strstr(why, "filter")); /* this kernel is new enough, and not told to be old */
}

/* A filter may know of one of the three calls alone. */
static void a_ring_that_cannot_be_set_up_or_used_is_none(void **state)
{
	const struct refusal rows[] = {
	    {SYS_io_uring_register, EPERM, "SystemCallFilter="},
	    {SYS_io_uring_enter, EPERM, "SystemCallFilter="},
	    {SYS_io_uring_register, EINVAL, "6.1 or later"},
	    {SYS_io_uring_enter, ETIME, "does not answer"},
	};

	(void)state;
	if (why_not[0] != '\0')
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why = asked(refuse, &rows[i]);

		assert_non_null(why);
		assert_non_null(strstr(why, rows[i].words));
	}
}

/* Many rings at once, or one behind the other, may be refused to this user for their memory. */
static bool locks_little(void)
{
	struct rlimit rl;

	if (geteuid() == 0 || (getrlimit(RLIMIT_MEMLOCK, &rl) == 0 && rl.rlim_cur >= 8 << 20))
		return false;
	print_message("not root, and fewer than 8 MiB may be locked: many rings cannot be tried\n");
	return true;
}

static int leave_fds(const void *arg)
{
	const struct rlimit rl = {*(const rlim_t *)arg, *(const rlim_t *)arg};

	return setrlimit(RLIMIT_NOFILE, &rl) != 0 ? -errno : 0;
}

static void a_full_table_of_descriptors_is_told(void **state)
{
	const int next = dup(0);
	rlim_t fds = (rlim_t)next + 2; /* the first free one, and the child's pipe: none is left */

	(void)state;
	assert_true(next >= 0);
	close(next);
	if (why_not[0] != '\0' || locks_little())
		skip();
	assert_non_null(strstr(asked(leave_fds, &fds), "LimitNOFILE="));
	fds++; /* the ring has one, and what it is to look at has none */
	assert_non_null(strstr(asked(leave_fds, &fds), "LimitNOFILE="));
	fds += 2;
	assert_string_equal(asked(leave_fds, &fds), "");
	assert_non_null(strstr(asked_for(4, leave_fds, &fds), "LimitNOFILE=")); /* four are too many */
	fds += 4;
	assert_string_equal(asked_for(4, leave_fds, &fds), "");
}

/* As a user whose limit counts, root's does not; and who has no rings that the kernel still holds. */
static int lock_at_most(const void *arg)
{
	const rlim_t bytes = *(const rlim_t *)arg;
	const struct rlimit rl = {bytes, bytes};
	const uid_t user = 30000 + (uid_t)getpid() % 30000;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) != 0 || setgid(user) != 0 || setuid(user) != 0)
		return -errno;
	return 0;
}

static void a_limit_of_locked_memory_is_named(void **state)
{
	const rlim_t nothing = 0;
	const char *why;

	(void)state;
	if (why_not[0] != '\0' || geteuid() != 0) {
		print_message("not root, or no ring: another user's limit cannot be seen\n");
		skip();
	}
	why = asked(lock_at_most, &nothing);
	if (why == NULL)
		skip();
	if (why[0] == '\0')
		print_message("this kernel does not count rings as locked memory\n");
	else
		assert_non_null(strstr(why, "LimitMEMLOCK="));
}

/* A small ring says nothing of those of the workers. */
static void who_asks_is_told_of_rings_of_full_size(void **state)
{
	const rlim_t nothing = 0, small = 100 << 10, one = 150 << 10, both = 2 * URING_LOCKED_KIB << 10;
	const char *why;

	(void)state;
	if (why_not[0] != '\0' || geteuid() != 0 || sysconf(_SC_PAGESIZE) != 4096) {
		print_message("not root, no ring, or other pages: limits cannot be seen\n");
		skip();
	}
	why = asked(lock_at_most, &nothing);
	if (why == NULL || why[0] == '\0')
		skip(); /* as above */
	assert_string_equal(asked(lock_at_most, &small), "");
	assert_non_null(strstr(asked_for(1, lock_at_most, &small), "100 KiB that this user may lock"));
	assert_string_equal(asked_for(1, lock_at_most, &one), "");
	assert_non_null(strstr(asked_for(2, lock_at_most, &one), "LimitMEMLOCK="));
	assert_string_equal(asked_for(2, lock_at_most, &both), "");
}

struct disabling {
	int number;
	int err; /* what io_uring_setup(2) then says; 0 = as it likes */
};

/* The kernel's own switch is everybody's: a file in its place, for the child alone, and a filter. */
static int disable(const void *arg)
{
	const struct disabling *d = arg;
	char name[] = "/tmp/test_uring.XXXXXX";
	const int fd = mkstemp(name);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (dprintf(fd, "%d\n", d->number) < 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount(name, DISABLED, NULL, MS_BIND, NULL) != 0)
		err = -errno;
	close(fd);
	(void)unlink(name); /* the mount keeps the file */
	if (!err && d->err != 0)
		err = forbid(SYS_io_uring_setup, d->err);
	return err;
}

static void the_switch_of_the_kernel_is_named(void **state)
{
	const struct disabling all = {2, 0}, group = {1, EPERM}, open = {0, EPERM};
	const char *why;

	(void)state;
	if (why_not[0] != '\0')
		skip();
	why = asked(disable, &all);
	if (why == NULL) /* it has said why */
		skip();
	assert_string_equal(why, "kernel.io_uring_disabled is 2");
	why = asked(disable, &group);
	assert_non_null(why);
	assert_non_null(strstr(why, "kernel.io_uring_disabled is 1"));
	assert_non_null(strstr(why, "kernel.io_uring_group"));
	why = asked(disable, &open);
	assert_non_null(why);
	assert_non_null(strstr(why, "SystemCallFilter="));
}

static int nothing(const void *arg)
{
	(void)arg;
	return 0;
}

static void a_cut_reason_ends(void **state)
{
	char why[8];

	(void)state;
	memset(why, 'x', sizeof(why));
	uring_explain(-EPERM, why, sizeof(why));
	assert_int_equal(strlen(why), sizeof(why) - 1);
	if (!locks_little())
		assert_string_equal(asked(nothing, NULL), why_not);
}

/* ---- what is left behind ---- */

static unsigned count_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static unsigned count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned n = 0;
	int c;

	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static void probing_leaves_nothing_behind(void **state)
{
	char why[URING_WHY_MAX];
	unsigned fds, mappings;

	(void)state;
	if (why_not[0] != '\0' || locks_little())
		skip();
	assert_non_null(uring_driver(why, sizeof(why)));
	fds = count_fds();
	mappings = count_mappings();
	for (int i = 0; i < TIMES; i++) {
		const struct io_driver *d = uring_driver(why, sizeof(why));

		assert_non_null(d);
		assert_string_equal(d->name, "io_uring");
		if (i % 20 == 0)
			(void)uring_rehearse(2, why, sizeof(why)); /* a limit may be too small for it */
	}
	assert_int_equal(count_fds(), fds);
	assert_in_range(count_mappings(), 1, mappings + TIMES / 20); /* the heap's may come and go */
}

/* A ring that was refused half-way is closed, too. */
static int fail_many_times(const void *arg)
{
	char why[URING_WHY_MAX];
	unsigned fds, mappings;
	int err = refuse(arg);

	if (err)
		return err;
	(void)uring_driver(why, sizeof(why));
	fds = count_fds();
	mappings = count_mappings();
	for (int i = 0; i < TIMES; i++)
		if (uring_driver(why, sizeof(why)) != NULL || uring_rehearse(2, why, sizeof(why)) == 0)
			_exit(3);
	if (count_fds() != fds || count_mappings() > mappings + TIMES / 20)
		_exit(4);
	return 0;
}

static void a_failed_probe_leaves_nothing_either(void **state)
{
	const struct refusal rows[] = {
	    {SYS_io_uring_register, EPERM, NULL},
	    {SYS_io_uring_enter, EPERM, NULL},
	    {SYS_eventfd2, EMFILE, NULL},
	};

	(void)state;
	if (why_not[0] != '\0')
		skip();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_non_null(asked(fail_many_times, &rows[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_refusal_has_its_words),
	    cmocka_unit_test(an_old_kernel_is_named),
	    cmocka_unit_test(a_ring_that_cannot_be_set_up_or_used_is_none),
	    cmocka_unit_test(a_full_table_of_descriptors_is_told),
	    cmocka_unit_test(a_limit_of_locked_memory_is_named),
	    cmocka_unit_test(who_asks_is_told_of_rings_of_full_size),
	    cmocka_unit_test(the_switch_of_the_kernel_is_named),
	    cmocka_unit_test(a_cut_reason_ends),
	    cmocka_unit_test(probing_leaves_nothing_behind),
	    cmocka_unit_test(a_failed_probe_leaves_nothing_either),
	};

	if (uring_driver(why_not, sizeof(why_not)) != NULL)
		why_not[0] = '\0';
	else
		print_message("no ring here, so most is skipped: %s\n", why_not);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
