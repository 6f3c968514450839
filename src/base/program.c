/* SPDX-License-Identifier: MIT
 *
 * program.c - may a program of others be run: who could replace it?
 *
 * Walks the path component by component, because a link in it may lead through folders that its text does not
 * show. What it has passed cannot change: only root and we could. Any thread.
 */
#include "weir/base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/base/check.h"

/* As many as the kernel follows (path_resolution(7)). */
#define LINKS_MAX 40

struct walk {
	char at[PATH_MAX];   /* where we are: no link is in it; "" = the root folder */
	char rest[PATH_MAX]; /* still to go */
	unsigned links;
	uid_t us;
	char *why;
	size_t room;
};

/* The text may be cut. */
static int refuse(const struct walk *w, int err, const char *what)
{
	(void)snprintf(w->why, w->room, "%s %s", w->at[0] != '\0' ? w->at : "/", what);
	return err;
}

static int judge_owner(const struct walk *w, const struct stat *st)
{
	char what[96];

	if (st->st_uid != 0 && st->st_uid != w->us) {
		(void)snprintf(what, sizeof(what), /* fits */
			       "belongs to user %u: it must belong to root or to the user that weir runs as",
			       (unsigned)st->st_uid);
		return refuse(w, -EPERM, what);
	}
	if ((st->st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	(void)snprintf(what, sizeof(what), "is writable by others (mode %04o)", /* fits */
		       (unsigned)(st->st_mode & 07777));
	return refuse(w, -EPERM, what);
}

/* Takes the next component from `rest` to the end of `at`. */
static int step(struct walk *w)
{
	const size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");
	const char *name = w->rest + skip;
	char *slash = strrchr(w->at, '/');
	size_t used = strlen(w->at);

	if (len == 2 && memcmp(name, "..", 2) == 0) {
		if (slash != NULL)
			*slash = '\0';
	} else if (len > 0 && !(len == 1 && name[0] == '.')) {
		if (used + 1 + len >= sizeof(w->at))
			return refuse(w, -ENAMETOOLONG, "leads to a path that is too long");
		w->at[used] = '/';
		memcpy(w->at + used + 1, name, len);
		w->at[used + 1 + len] = '\0';
	}
	memmove(w->rest, name + len, strlen(name + len) + 1);
	return 0;
}

/* `at` is a link: what it stands for comes before the rest. */
static int follow(struct walk *w)
{
	char target[PATH_MAX];
	const ssize_t len = readlink(w->at, target, sizeof(target) - 1);
	const size_t rest = strlen(w->rest);

	if (len < 0)
		return refuse(w, -errno, "cannot be read");
	if (++w->links > LINKS_MAX)
		return refuse(w, -ELOOP, "is one of too many links");
	if ((size_t)len + 1 + rest >= sizeof(w->rest))
		return refuse(w, -ENAMETOOLONG, "leads to a path that is too long");
	memmove(w->rest + len + 1, w->rest, rest + 1);
	memcpy(w->rest, target, (size_t)len);
	w->rest[len] = '/';
	if (target[0] == '/')
		w->at[0] = '\0';
	else
		*strrchr(w->at, '/') = '\0';
	return 0;
}

static int judge_file(const struct walk *w, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return refuse(w, -EACCES, "is not a regular file");
	if ((st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
		return refuse(w, -EACCES, "is not executable");
	return 0;
}

/* Looks at what `at` is. The links are not judged: what they are in is. */
static int judge(struct walk *w, bool last)
{
	struct stat st;
	int err;

	if (lstat(w->at[0] != '\0' ? w->at : "/", &st) != 0) {
		err = -errno;
		return refuse(w, err, err == -ENOENT ? "does not exist" : strerrordesc_np(-err));
	}
	if (S_ISLNK(st.st_mode))
		return follow(w);
	err = judge_owner(w, &st);
	if (err)
		return err;
	if (last)
		return judge_file(w, &st);
	return S_ISDIR(st.st_mode) ? 0 : refuse(w, -ENOTDIR, "is not a folder");
}

int program_look(const char *path, uid_t us, char *why, size_t room)
{
	struct walk w = {.us = us, .why = why, .room = room};
	int err;

	check(room > 0);
	why[0] = '\0';
	if (path[0] != '/') {
		(void)snprintf(why, room, "%s is not an absolute path", path);
		return -EINVAL;
	}
	if (strlen(path) >= sizeof(w.rest)) {
		(void)snprintf(why, room, "its path is too long");
		return -ENAMETOOLONG;
	}
	memcpy(w.rest, path, strlen(path) + 1);
	err = judge(&w, false);
	while (!err && w.rest[strspn(w.rest, "/")] != '\0') {
		err = step(&w);
		if (!err)
			err = judge(&w, w.rest[strspn(w.rest, "/")] == '\0');
	}
	if (!err && w.at[0] == '\0')
		err = refuse(&w, -EACCES, "is not a regular file");
	return err;
}
