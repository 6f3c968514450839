/* SPDX-License-Identifier: MIT
 *
 * confirmed_file.c - the file with the confirmed text and the marks: written as a whole, judged as a whole.
 *
 * Lines, then the text as it is, then a hash of all that, so that damage anywhere is noticed:
 *
 *   weir confirmed 1
 *   mark SUM BYTES TIME GENERATION REASON
 *   text BYTES
 *   ...
 *   sum SUM
 *
 * Any thread.
 */
#include "weir/reload/confirmed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"

#define FIRST_LINE "weir confirmed 1\n"
#define NEW_NAME   CONFIRMED_NAME ".new"
/* How often the new file may turn out to be that of another save. */
#define NEW_TRIES 16
/* "sum ", 16 digits, newline. */
#define SUM_BYTES 21u
/* Besides the text: far more than ten marks take. */
#define FRAME_BYTES_MAX 4096u

/* ---- the bytes ---- */

static void add_sum(struct text *out)
{
	if (!out->failed)
		text_printf(out, "sum %016llx\n", (unsigned long long)hash_bytes(out->bytes, out->len, 0));
}

static void write_bytes(const struct confirmed *c, struct text *out)
{
	const uint64_t len = c->text != NULL ? config_text_hash(c->text).bytes : 0;

	text_printf(out, FIRST_LINE);
	for (unsigned i = 0; i < c->mark_count; i++) {
		const struct confirmed_mark *m = &c->marks[i];

		text_printf(out, "mark %016llx %llu %lld %llu %u\n", (unsigned long long)m->text.sum,
			    (unsigned long long)m->text.bytes, (long long)m->wall_ns,
			    (unsigned long long)m->generation, (unsigned)m->reason);
	}
	text_printf(out, "text %llu\n", (unsigned long long)len);
	if (c->text != NULL)
		config_text_write(c->text, out);
	add_sum(out);
}

/* Does the last line fit all before it? `bytes` has a NUL behind `len`, as below. */
static bool is_whole(const char *bytes, size_t len)
{
	char line[SUM_BYTES + 1];

	if (len < SUM_BYTES)
		return false;
	(void)snprintf(line, sizeof(line), "sum %016llx\n", /* fits */
		       (unsigned long long)hash_bytes(bytes, len - SUM_BYTES, 0));
	return memcmp(bytes + len - SUM_BYTES, line, SUM_BYTES) == 0;
}

/* Reads the line of a mark at `*at`, if it is one. */
static bool take_mark(const char **at, struct confirmed_mark *m)
{
	unsigned long long sum, bytes, generation;
	unsigned reason;
	long long wall_ns;
	int len = 0;

	if (sscanf(*at, "mark %16llx %llu %lld %llu %u\n%n", &sum, &bytes, &wall_ns, &generation, &reason,
		   &len) != 5 ||
	    len == 0 || reason >= CONFIRMED_REASONS)
		return false;
	*m = (struct confirmed_mark){{sum, bytes}, wall_ns, generation, (enum confirmed_reason)reason};
	*at += len;
	return true;
}

/* Once the sum is right, only a different version can have written something else. */
static int parse_bytes(const char *bytes, size_t len, struct confirmed *c)
{
	const char *at = bytes + strlen(FIRST_LINE);
	struct confirmed_mark mark;
	unsigned long long text_len;
	int line_len = 0;

	if (!is_whole(bytes, len) || strncmp(bytes, FIRST_LINE, strlen(FIRST_LINE)) != 0)
		return -EBADMSG;
	while (c->mark_count < CONFIRMED_MARKS_MAX && take_mark(&at, &mark))
		confirmed_add_mark(c, &mark);
	if (sscanf(at, "text %llu%n", &text_len, &line_len) != 1 || at[line_len] != '\n')
		return -EBADMSG;
	at += line_len + 1;
	if (at > bytes + len - SUM_BYTES || text_len != len - SUM_BYTES - (size_t)(at - bytes))
		return -EBADMSG;
	return text_len == 0 ? 0 : config_text_parse(at, text_len, &c->text);
}

/* ---- reading ---- */

static int read_all(int fd, char *bytes, size_t len)
{
	size_t got = 0;

	while (got < len) {
		const ssize_t n = read(fd, bytes + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EBADMSG; /* it is replaced, never shortened */
		got += (size_t)n;
	}
	return 0;
}

/* Root must not be made to start from what somebody else wrote. */
static int judge_owner(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if ((st->st_uid != 0 && st->st_uid != geteuid()) || st->st_nlink != 1)
		return -EPERM;
	return st->st_size > (off_t)(CONFIG_TEXT_BYTES_MAX + FRAME_BYTES_MAX) ? -EFBIG : 0;
}

static int load_from(int fd, struct confirmed *c)
{
	struct stat st;
	char *bytes;
	int err = fstat(fd, &st) != 0 ? -errno : judge_owner(&st);

	if (err)
		return err;
	bytes = calloc(1, (size_t)st.st_size + 1);
	if (bytes == NULL)
		return -ENOMEM;
	err = read_all(fd, bytes, (size_t)st.st_size);
	if (!err)
		err = parse_bytes(bytes, (size_t)st.st_size, c);
	free(bytes);
	return err;
}

static int path_in(const char *folder, char path[PATH_MAX])
{
	const int len = snprintf(path, PATH_MAX, "%s/" CONFIRMED_NAME, folder);

	return len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int confirmed_load(const char *folder, struct confirmed *c)
{
	char path[PATH_MAX];
	int err = path_in(folder, path);
	int fd;

	*c = (struct confirmed){0};
	if (err)
		return err;
	/* Without O_NONBLOCK, a FIFO in its place would block. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ELOOP ? -EINVAL : -errno;
	err = load_from(fd, c);
	(void)close(fd); /* only read from */
	if (err)
		confirmed_free(c);
	return err;
}

/* ---- writing ---- */

static int write_all(int fd, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const ssize_t n = write(fd, bytes + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return fsync(fd) == 0 ? 0 : -errno;
}

/* The lock ends with the descriptor. A file system without locks has one daemon, we trust. */
static int lock(int fd)
{
	int err;

	do
		err = flock(fd, LOCK_EX) == 0 ? 0 : -errno;
	while (err == -EINTR);
	return err == -ENOLCK || err == -EOPNOTSUPP || err == -ENOSYS ? 0 : err;
}

/* Is it still the new file, and one that nobody else can open or reach by another name? */
static int judge_new(int folder, int fd)
{
	struct stat st, named;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (fstatat(folder, NEW_NAME, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? -EAGAIN : -errno; /* another save has ended meanwhile */
	if (st.st_dev != named.st_dev || st.st_ino != named.st_ino)
		return -EAGAIN;
	if (S_ISREG(st.st_mode) && (st.st_mode & 0077) == 0 && st.st_uid == geteuid() && st.st_nlink == 1)
		return 0;
	return unlinkat(folder, NEW_NAME, 0) == 0 ? -EAGAIN : -errno;
}

/* One attempt at open_new(); -EAGAIN = once more. */
static int try_new(int folder, int *out)
{
	int fd, err;

	fd = openat(folder, NEW_NAME,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0 && (errno == EACCES || errno == ELOOP || errno == ENXIO)) /* it is not ours */
		return unlinkat(folder, NEW_NAME, 0) == 0 ? -EAGAIN : -errno;
	if (fd < 0)
		return -errno;
	err = judge_new(folder, fd);
	if (!err)
		err = lock(fd);
	if (!err)
		err = judge_new(folder, fd); /* it may have been waited for */
	if (!err)
		*out = fd;
	else
		(void)close(fd); /* nothing was written */
	return err;
}

/* Opens the new file, which may be left of a process that was killed, for one save at a time: whoever writes
 * has its lock. Not that of the folder, which anybody could take who can read the folder. */
static int open_new(int folder, int *fd)
{
	int err = -EAGAIN;

	for (int tries = 0; tries < NEW_TRIES && err == -EAGAIN; tries++)
		err = try_new(folder, fd);
	if (err)
		(void)unlinkat(folder, NEW_NAME, 0); /* otherwise the next save removes it */
	return err;
}

/* Writes the new file, which is on disk then, and gives it its name. After an error there is none. */
static int write_new(int folder, int fd, const struct text *bytes)
{
	int err = ftruncate(fd, 0) == 0 ? 0 : -errno;

	if (!err)
		err = write_all(fd, bytes->bytes, bytes->len);
	if (!err && renameat(folder, NEW_NAME, folder, CONFIRMED_NAME) != 0)
		err = -errno;
	if (err)
		(void)unlinkat(folder, NEW_NAME, 0); /* as above */
	return err;
}

static int save_bytes(const char *path, const struct text *bytes)
{
	const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err, fd = -1;

	if (folder < 0)
		return -errno;
	err = open_new(folder, &fd);
	if (!err) {
		err = write_new(folder, fd, bytes);
		(void)close(fd); /* its fsync() has returned */
	}
	if (!err && fsync(folder) != 0)
		err = -errno;
	(void)close(folder); /* the same */
	return err;
}

int confirmed_save(const char *folder, const struct confirmed *c)
{
	struct text bytes;
	int err = -ENOMEM;

	text_init(&bytes);
	write_bytes(c, &bytes);
	if (!bytes.failed)
		err = save_bytes(folder, &bytes);
	text_free(&bytes);
	return err;
}

/* ---- words ---- */

bool confirmed_folder(const char *variable, char *path, size_t room)
{
	const size_t len = variable != NULL ? strcspn(variable, ":") : 0;

	if (len == 0 || variable[0] != '/' || len >= room)
		return false;
	memcpy(path, variable, len);
	path[len] = '\0';
	return true;
}

/* What to do about it. */
static const char *advice(int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
		return "create that folder for the user of weir, as StateDirectory= of the unit does";
	case EACCES:
	case EPERM:
	case EROFS:
		return "let the user of weir write there, as StateDirectory= of the unit does";
	case ENOSPC:
	case EDQUOT:
		return "make room there";
	case ENOMEM:
		return "raise the limit of memory (MemoryMax= of the unit)";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (LimitNOFILE= of the unit)";
	default:
		return "see that the disk works";
	}
}

const char *confirmed_explain(const char *folder, int err, char *why, size_t room)
{
	check(err < 0);
	(void)snprintf(why, room, "cannot write %s/" CONFIRMED_NAME ": %s; %s", folder, strerror(-err),
		       advice(err)); /* may be truncated */
	return why;
}
