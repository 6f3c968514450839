/* SPDX-License-Identifier: MIT
 *
 * test_confirmed.c - the marks, and the state file: whole or refused, and never half replaced.
 *
 * Every allocation and every system call of a save or a load can fail.
 */
#include "confirmed_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include "weir/base/hash.h"

/* ---- calls that fail ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);
ssize_t __real_write(int fd, const void *bytes, size_t len);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);
ssize_t __real_read(int fd, void *bytes, size_t len);
ssize_t __wrap_read(int fd, void *bytes, size_t len);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);
int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __real_fstatat(int folder, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int folder, const char *path, struct stat *st, int flags);
int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);

static long calls_left = -1; /* that still succeed; -1 = all */
static int fails_with = EIO;
static bool has_failed;
static bool renamed;	/* the call that fails comes after the rename */
static size_t piece;	/* the most that a read or write takes; 0 = all */
static char order[64];	/* the calls that matter on disk, a letter each */

static bool call_fails(void)
{
	if (calls_left < 0 || calls_left-- > 0)
		return false;
	has_failed = true;
	errno = fails_with;
	return true;
}

static void note_call(char letter)
{
	const size_t len = strlen(order);

	if (len + 1 < sizeof(order))
		order[len] = letter;
}

static size_t cut(size_t len)
{
	return piece != 0 && len > piece ? piece : len;
}

/* The names that these calls have with large files. */
int __wrap_open64(const char *path, int flags, ...) __attribute__((alias("__wrap_open")));
int __wrap_openat64(int folder, const char *path, int flags, mode_t mode)
	__attribute__((alias("__wrap_openat")));
int __wrap_fstat64(int fd, struct stat *st) __attribute__((alias("__wrap_fstat")));
int __wrap_fstatat64(int folder, const char *path, struct stat *st, int flags)
	__attribute__((alias("__wrap_fstatat")));
int __wrap_ftruncate64(int fd, off_t len) __attribute__((alias("__wrap_ftruncate")));

/* Never with O_CREAT here. */
int __wrap_open(const char *path, int flags, ...)
{
	return call_fails() ? -1 : __real_open(path, flags);
}

int __wrap_openat(int folder, const char *path, int flags, mode_t mode)
{
	return call_fails() ? -1 : __real_openat(folder, path, flags, mode);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
	note_call('w');
	return call_fails() ? -1 : __real_write(fd, bytes, cut(len));
}

ssize_t __wrap_read(int fd, void *bytes, size_t len)
{
	return call_fails() ? -1 : __real_read(fd, bytes, cut(len));
}

int __wrap_fsync(int fd)
{
	struct stat st;

	note_call(__real_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? 'F' : 'f');
	return call_fails() ? -1 : __real_fsync(fd);
}

/* Closes in any case, as the kernel does. */
int __wrap_close(int fd)
{
	const int err = __real_close(fd);

	return call_fails() ? -1 : err;
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	note_call('r');
	if (call_fails())
		return -1;
	renamed = true;
	return __real_renameat(from, old, to, new);
}

int __wrap_unlinkat(int folder, const char *name, int flags)
{
	return call_fails() ? -1 : __real_unlinkat(folder, name, flags);
}

int __wrap_flock(int fd, int how)
{
	note_call('l');
	return call_fails() ? -1 : __real_flock(fd, how);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return call_fails() ? -1 : __real_fstat(fd, st);
}

int __wrap_fstatat(int folder, const char *path, struct stat *st, int flags)
{
	return call_fails() ? -1 : __real_fstatat(folder, path, st, flags);
}

int __wrap_ftruncate(int fd, off_t len)
{
	return call_fails() ? -1 : __real_ftruncate(fd, len);
}

/* ---- in memory ---- */

static void newest_mark_of_a_text_is_its_only_one(void **state)
{
	struct confirmed c;
	struct confirmed_mark mark;

	(void)state;
	make_state(&c, NULL, 3);
	mark = c.marks[0];
	mark.reason = CONFIRMED_EXPIRED;
	mark.wall_ns++;
	confirmed_add_mark(&c, &mark);
	assert_int_equal(c.mark_count, 3);
	assert_ptr_equal(confirmed_find(&c, mark.text), &c.marks[2]);
	assert_true(is_same_mark(&c.marks[2], &mark));
	assert_true(confirmed_unmark(&c, mark.text));
	assert_null(confirmed_find(&c, mark.text));
	assert_false(confirmed_unmark(&c, mark.text));
	assert_int_equal(c.mark_count, 2);
	confirmed_free(&c);
}

static void oldest_mark_makes_room(void **state)
{
	struct confirmed c;
	struct confirmed_mark mark = {.text = {7, 7}, .reason = CONFIRMED_ROLLED_BACK};
	struct config_text_hash first, second;

	(void)state;
	make_state(&c, NULL, CONFIRMED_MARKS_MAX);
	first = c.marks[0].text;
	second = c.marks[1].text;
	confirmed_add_mark(&c, &mark);
	assert_int_equal(c.mark_count, CONFIRMED_MARKS_MAX);
	assert_null(confirmed_find(&c, first));
	assert_ptr_equal(confirmed_find(&c, second), &c.marks[0]);
	assert_ptr_equal(confirmed_find(&c, mark.text), &c.marks[CONFIRMED_MARKS_MAX - 1]);
	confirmed_free(&c);
}

static void texts_are_counted(void **state)
{
	struct config_text *one = text_with("one"), *two = text_with("two");
	struct confirmed c = {.text = NULL}, copy;

	(void)state;
	confirmed_set_text(&c, one);
	confirmed_set_text(&c, one);
	confirmed_copy(&copy, &c);
	confirmed_set_text(&c, two);
	config_text_drop(one);
	config_text_drop(two);
	assert_true(config_text_hash_same(config_text_hash(copy.text), hash_with("one")));
	assert_true(config_text_hash_same(config_text_hash(c.text), hash_with("two")));
	confirmed_set_text(&c, NULL);
	confirmed_free(&c);
	confirmed_free(&c);
	confirmed_free(&copy);
}

static void mark_is_described(void **state)
{
	static const char *const wanted[CONFIRMED_REASONS] = {
		"was never confirmed (generation 3, 2025-11-24T16:00:00Z)",
		"was not confirmed in time (generation 3, 2025-11-24T16:00:00Z)",
		"was rolled back (generation 3, 2025-11-24T16:00:00Z)",
	};
	struct confirmed_mark mark = {{1, 2}, INT64_C(1764000000) * 1000000000 + 5, 3, CONFIRMED_ON_TRIAL};
	char bytes[128];
	struct text out;

	(void)state;
	for (unsigned i = 0; i < CONFIRMED_REASONS; i++) {
		mark.reason = (enum confirmed_reason)i;
		text_over(&out, bytes, sizeof(bytes));
		confirmed_describe(&mark, &out);
		assert_string_equal(bytes, wanted[i]);
	}
}

static void folder_is_the_first_absolute_one(void **state)
{
	char path[16];

	(void)state;
	assert_true(confirmed_folder("/var/lib/weir", path, sizeof(path)));
	assert_string_equal(path, "/var/lib/weir");
	assert_true(confirmed_folder("/a:/b", path, sizeof(path)));
	assert_string_equal(path, "/a");
	assert_false(confirmed_folder(NULL, path, sizeof(path)));
	assert_false(confirmed_folder("", path, sizeof(path)));
	assert_false(confirmed_folder(":/a", path, sizeof(path)));
	assert_false(confirmed_folder("weir", path, sizeof(path)));
	assert_false(confirmed_folder("/sixteen/letters", path, sizeof(path)));
}

/* ---- on disk ---- */

static void what_was_saved_is_loaded(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;

	assert_int_equal(confirmed_load(r->folder, &c), -ENOENT);
	for (unsigned marks = 0; marks <= CONFIRMED_MARKS_MAX; marks++) {
		make_state(&c, marks % 2 == 0 ? "mark 1 2 3 4 0\ntext 0\nsum 1" : NULL, marks);
		piece = marks;
		assert_int_equal(confirmed_save(r->folder, &c), 0);
		assert_on_disk(r, &c);
		confirmed_free(&c);
	}
	piece = 0;
}

static void only_its_user_may_read_it(void **state)
{
	const struct rig *r = *state;
	const mode_t mask = umask(0);
	struct confirmed c;
	struct stat st;

	make_state(&c, "one", 1);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_int_equal(stat(r->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	(void)umask(mask);
	confirmed_free(&c);
}

/* The bytes of the file; `*len` of them. */
static char *file_bytes(const struct rig *r, size_t *len)
{
	const int fd = __real_open(r->file, O_RDONLY);
	char *bytes = __real_calloc(1, 8192);
	ssize_t n;

	assert_true(fd >= 0);
	assert_non_null(bytes);
	n = __real_read(fd, bytes, 8192);
	assert_true(n > 0 && n < 8192);
	assert_int_equal(__real_close(fd), 0);
	*len = (size_t)n;
	return bytes;
}

static void put_bytes(const struct rig *r, const char *bytes, size_t len)
{
	const int fd = creat(r->file, 0600);

	assert_true(fd >= 0);
	assert_int_equal(__real_write(fd, bytes, len), len);
	assert_int_equal(__real_close(fd), 0);
}

static void assert_damaged(const struct rig *r, const char *bytes, size_t len)
{
	static const struct confirmed nothing;
	struct confirmed c;

	put_bytes(r, bytes, len);
	memset(&c, 0xff, sizeof(c));
	assert_int_equal(confirmed_load(r->folder, &c), -EBADMSG);
	assert_true(is_same_state(&c, &nothing));
}

static void damage_at_every_byte_is_noticed(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;
	char *bytes;
	size_t len;

	make_state(&c, "[listen l]\nbind = :80\n", 2);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	bytes = file_bytes(r, &len);
	for (size_t at = 0; at < len; at++) {
		for (int bit = 0; bit < 8; bit += 5) {
			bytes[at] = (char)(bytes[at] ^ 1 << bit);
			assert_damaged(r, bytes, len);
			bytes[at] = (char)(bytes[at] ^ 1 << bit);
		}
		assert_damaged(r, bytes, at);
		memset(bytes + at, 0, len - at); /* a block that never reached the disk */
		assert_damaged(r, bytes, len);
		__real_free(bytes);
		assert_int_equal(confirmed_save(r->folder, &c), 0);
		bytes = file_bytes(r, &len);
	}
	bytes[len] = '\n';
	assert_damaged(r, bytes, len + 1);
	put_bytes(r, bytes, len);
	assert_on_disk(r, &c);
	__real_free(bytes);
	confirmed_free(&c);
}

/* With a sum that is right: by another version, or by somebody who made it. */
static void other_contents_with_the_right_sum_are_refused(void **state)
{
	static const char *const odd[] = {
		"",
		"weir confirmed 1\n",
		"weir confirmed 2\ntext 0\n",
		"weir confirmed 1\ntext 0",
		"weir confirmed 1\ntext 1\n",
		"weir confirmed 1\ntext -1\n",
		"weir confirmed 1\ntext 18446744073709551615\n",
		"weir confirmed 1\ntext 3\nabc",
		"weir confirmed 1\nmark 1 2 3 4\ntext 0\n",
		"weir confirmed 1\nmark 1 2 3 4 3\ntext 0\n",
		"weir confirmed 1\nmark 1 2 3 4 0\n",
		"weir confirmed 1\nnote\ntext 0\n",
	};
	const struct rig *r = *state;

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		char bytes[256];
		const int len = snprintf(bytes, sizeof(bytes), "%ssum %016llx\n", odd[i],
					 (unsigned long long)hash_bytes(odd[i], strlen(odd[i]), 0));

		assert_damaged(r, bytes, (size_t)len);
	}
}

static void what_is_not_our_file_is_not_read(void **state)
{
	const struct rig *r = *state;
	struct confirmed c, got;

	make_state(&c, "one", 1);
	assert_int_equal(mkfifo(r->file, 0600), 0);
	assert_int_equal(confirmed_load(r->folder, &got), -EINVAL);
	assert_int_equal(unlink(r->file), 0);
	assert_int_equal(mkdir(r->file, 0700), 0);
	assert_int_equal(confirmed_load(r->folder, &got), -EINVAL);
	assert_int_equal(rmdir(r->file), 0);
	assert_int_equal(symlink("/etc/passwd", r->file), 0);
	assert_int_equal(confirmed_load(r->folder, &got), -EINVAL);
	assert_int_equal(confirmed_save(r->folder, &c), 0); /* replaces it */
	assert_on_disk(r, &c);
	assert_int_equal(link(r->file, r->new), 0);
	assert_int_equal(confirmed_load(r->folder, &got), -EPERM);
	assert_int_equal(unlink(r->new), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(r->file, 12345, (gid_t)-1), 0);
		assert_int_equal(confirmed_load(r->folder, &got), -EPERM);
	}
	assert_int_equal(truncate(r->file, (off_t)CONFIG_TEXT_BYTES_MAX * 2), 0);
	assert_int_equal(chown(r->file, geteuid(), (gid_t)-1), 0);
	assert_int_equal(confirmed_load(r->folder, &got), -EFBIG);
	assert_int_equal(confirmed_load("/nonexistent-weir", &got), -ENOENT);
	assert_null(got.text);
	confirmed_free(&c);
}

/* A power failure between any two of these leaves a whole file, too: the new name gets to the disk after what
 * it names, and the answer is given after both. Saves at the same time do not meet. */
static void bytes_are_on_disk_before_their_name_and_both_before_the_end(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;

	make_state(&c, "one", 1);
	memset(order, 0, sizeof(order));
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_string_equal(order, "lwfrF");
	confirmed_free(&c);
}

/* Of a process that was killed while it wrote. */
static void half_a_new_file_is_replaced(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;
	const int fd = creat(r->new, 0400);

	assert_true(fd >= 0);
	assert_int_equal(__real_write(fd, "weir", 4), 4);
	assert_int_equal(__real_close(fd), 0);
	make_state(&c, "one", 1);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_on_disk(r, &c);
	assert_int_not_equal(access(r->new, F_OK), 0);
	confirmed_free(&c);
}

/* Who may read the folder can lock it, and a file there that others can open is locked by them, too. */
static void nobody_else_can_hold_up_a_save(void **state)
{
	const struct rig *r = *state;
	const mode_t mask = umask(0);
	const int folder = __real_open(r->folder, O_RDONLY | O_DIRECTORY);
	const int other = creat(r->new, 0666);
	struct confirmed c;
	struct stat st;

	(void)umask(mask);
	assert_true(folder >= 0 && other >= 0);
	assert_int_equal(__real_flock(folder, LOCK_EX), 0);
	assert_int_equal(__real_flock(other, LOCK_EX), 0);
	make_state(&c, "one", 1);
	(void)alarm(10); /* ends the test */
	assert_int_equal(link(r->new, r->file), 0);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	(void)alarm(0);
	assert_on_disk(r, &c);
	assert_int_equal(stat(r->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(__real_close(other), 0);
	assert_int_equal(__real_close(folder), 0);
	confirmed_free(&c);
}

static void only_a_file_of_its_own_is_written(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;
	struct stat st;
	char victim[64];
	int fd;

	make_state(&c, "one", 1);
	(void)snprintf(victim, sizeof(victim), "%s/victim", r->folder);
	fd = creat(victim, 0600);
	assert_true(fd >= 0);
	assert_int_equal(__real_write(fd, "weir", 4), 4);
	assert_int_equal(__real_close(fd), 0);
	assert_int_equal(link(victim, r->new), 0);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_on_disk(r, &c);
	assert_int_equal(symlink(victim, r->new), 0);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_int_equal(mkfifo(r->new, 0600), 0);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	assert_on_disk(r, &c);
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(unlink(victim), 0);
	confirmed_free(&c);
}

/* One that begins while another is under way waits for it, and does not write into its file. */
static void saves_at_the_same_time_do_not_meet(void **state)
{
	const struct rig *r = *state;
	const int first = __real_open(r->new, O_WRONLY | O_CREAT, 0600);
	struct confirmed c;
	pid_t child;
	int status;

	assert_true(first >= 0);
	assert_int_equal(__real_flock(first, LOCK_EX), 0);
	make_state(&c, "one", 1);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)__real_close(first); /* the lock stays: the parent has it, too */
		_exit(confirmed_save(r->folder, &c) == 0 ? 0 : 1);
	}
	assert_int_equal(usleep(20000), 0);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(__real_write(first, "weir", 4), 4);
	assert_int_equal(rename(r->new, r->file), 0);
	assert_int_equal(__real_close(first), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_on_disk(r, &c);
	confirmed_free(&c);
}

/* ---- failures ---- */

static void save_that_fails_leaves_the_file_as_it_was(void **state)
{
	static const int errors[] = {EIO, ENOSPC};
	const struct rig *r = *state;
	struct confirmed old, next;
	int err = -1;
	long n = 0;

	make_state(&old, "old", 1);
	make_state(&next, "next", 2);
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		fails_with = errors[i];
		for (n = 0, has_failed = true; has_failed; n++) {
			assert_int_equal(confirmed_save(r->folder, &old), 0);
			has_failed = renamed = false;
			calls_left = n;
			err = confirmed_save(r->folder, &next);
			calls_left = -1;
			/* What fails once all is done does not count. */
			assert_int_equal(err, has_failed && err != 0 ? -errors[i] : 0);
			assert_on_disk(r, renamed ? &next : &old);
			assert_true(renamed || err != 0);
			assert_int_not_equal(access(r->new, F_OK), 0);
		}
		assert_int_equal(err, 0);
		assert_true(n > 8);
	}
	confirmed_free(&old);
	confirmed_free(&next);
}

static void interrupted_calls_are_repeated(void **state)
{
	const struct rig *r = *state;
	struct confirmed c, got;
	unsigned fine = 0;

	make_state(&c, "one", 1);
	fails_with = EINTR;
	for (long n = 0; n < 9; n++) {
		calls_left = n;
		fine += confirmed_save(r->folder, &c) == 0 ? 1 : 0;
		calls_left = -1;
		assert_int_equal(confirmed_save(r->folder, &c), 0);
	}
	assert_true(fine >= 2); /* flock and write */
	calls_left = 2;		/* open, fstat, read */
	assert_int_equal(confirmed_load(r->folder, &got), 0);
	calls_left = -1;
	confirmed_free(&got);
	confirmed_free(&c);
}

static void folder_without_locks_is_written(void **state)
{
	const struct rig *r = *state;
	struct confirmed c;

	make_state(&c, "one", 1);
	fails_with = ENOLCK;
	calls_left = 4; /* open, openat, fstat, fstatat */
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	calls_left = -1;
	assert_on_disk(r, &c);
	confirmed_free(&c);
}

static void load_that_fails_leaves_nothing(void **state)
{
	const struct rig *r = *state;
	struct confirmed c, got;
	int err = 0;
	long n;

	make_state(&c, "one", 3);
	assert_int_equal(confirmed_save(r->folder, &c), 0);
	fails_with = EIO;
	for (n = 0, has_failed = true; has_failed; n++) {
		has_failed = false;
		calls_left = n;
		err = confirmed_load(r->folder, &got);
		calls_left = -1;
		assert_true((got.text != NULL) == (err == 0));
		assert_true(err == 0 || err == -EIO);
		assert_true(err == 0 || got.mark_count == 0);
		confirmed_free(&got);
	}
	assert_true(n > 3);
	for (n = 0, err = -ENOMEM; err == -ENOMEM; n++) {
		fail_allocations_from(n);
		err = confirmed_load(r->folder, &got);
		fail_allocations_from(-1);
		assert_true((got.text != NULL) == (err == 0));
		confirmed_free(&got);
	}
	assert_int_equal(err, 0);
	assert_true(n > 2);
	for (n = 0, err = -ENOMEM; err == -ENOMEM; n++) {
		fail_allocations_from(n);
		err = confirmed_save(r->folder, &c);
		fail_allocations_from(-1);
		assert_on_disk(r, &c);
	}
	assert_int_equal(err, 0);
	confirmed_free(&c);
}

static void failure_is_explained(void **state)
{
	char why[128];

	(void)state;
	assert_string_equal(confirmed_explain("/var/lib/weir", -ENOSPC, why, sizeof(why)),
			    "cannot write /var/lib/weir/confirmed: No space left on device; make room there");
	assert_non_null(strstr(confirmed_explain("/x", -EACCES, why, sizeof(why)), "StateDirectory="));
	assert_non_null(strstr(confirmed_explain("/x", -EIO, why, sizeof(why)), "disk"));
}

/* ---- killed ---- */

static void sleep_ns(long ns)
{
	const struct timespec t = {.tv_nsec = ns};

	(void)nanosleep(&t, NULL);
}

/* Saves one and the other, until it is killed. */
static void save_for_ever(const struct rig *r, const struct confirmed *a, const struct confirmed *b)
{
	for (;;)
		if (confirmed_save(r->folder, a) != 0 || confirmed_save(r->folder, b) != 0)
			_exit(1);
}

/* At a moment that nothing chooses: the file is always one of the two. */
static void killed_process_leaves_a_whole_file(void **state)
{
	const struct rig *r = *state;
	struct confirmed a, b, got;

	make_state(&a, "one", 0);
	make_state(&b, "another", CONFIRMED_MARKS_MAX);
	assert_int_equal(confirmed_save(r->folder, &a), 0);
	for (long round = 0; round < 100; round++) {
		const pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0)
			save_for_ever(r, &a, &b);
		sleep_ns(100000 + round * 7919);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(confirmed_load(r->folder, &got), 0);
		assert_true(is_same_state(&got, &a) || is_same_state(&got, &b));
		confirmed_free(&got);
	}
	assert_int_equal(confirmed_save(r->folder, &a), 0); /* nothing of them is in the way */
	assert_on_disk(r, &a);
	confirmed_free(&a);
	confirmed_free(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(newest_mark_of_a_text_is_its_only_one),
		TEST(oldest_mark_makes_room),
		TEST(texts_are_counted),
		TEST(mark_is_described),
		TEST(folder_is_the_first_absolute_one),
		TEST(what_was_saved_is_loaded),
		TEST(only_its_user_may_read_it),
		TEST(damage_at_every_byte_is_noticed),
		TEST(other_contents_with_the_right_sum_are_refused),
		TEST(what_is_not_our_file_is_not_read),
		TEST(bytes_are_on_disk_before_their_name_and_both_before_the_end),
		TEST(half_a_new_file_is_replaced),
		TEST(nobody_else_can_hold_up_a_save),
		TEST(only_a_file_of_its_own_is_written),
		TEST(saves_at_the_same_time_do_not_meet),
		TEST(save_that_fails_leaves_the_file_as_it_was),
		TEST(interrupted_calls_are_repeated),
		TEST(folder_without_locks_is_written),
		TEST(load_that_fails_leaves_nothing),
		TEST(failure_is_explained),
		TEST(killed_process_leaves_a_whole_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
