/* SPDX-License-Identifier: MIT
 *
 * user_access.c - a child process becomes the user of a daemon and tries what the daemon will need.
 *
 * The kernel judges, so that groups, access lists and parent folders count. The child changes nothing.
 * Main thread.
 */
#include "weir/host/user_access.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/host/privileges.h"

enum thing_kind { THING_FILE, THING_LOG, THING_SOCKET };

struct thing {
	enum thing_kind kind;
	const char *path; /* borrows from the configuration */
};

struct things {
	struct thing *list; /* owns */
	size_t count, room;
};

/* ---- what is needed ---- */

static void add(struct things *t, enum thing_kind kind, const char *path)
{
	check(t->count < t->room);
	t->list[t->count++] = (struct thing){kind, path};
}

static void add_socket(struct things *t, const struct addr_spec *a)
{
	if (a->kind == ADDR_UNIX && a->addr.un.sun_path[0] != '\0')
		add(t, THING_SOCKET, a->addr.un.sun_path);
}

static int collect(struct things *t, const struct config *c)
{
	const struct config_global *g = &c->global;

	t->room = c->file_count + g->log_count + 1;
	for (size_t i = 0; i < c->frontend_count; i++)
		t->room += c->frontends[i].bind_count;
	t->list = calloc(t->room, sizeof(*t->list));
	if (t->list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->file_count; i++)
		if (c->files[i][0] == '/' || access(c->files[i], F_OK) == 0) /* "-" and "-o" are no files */
			add(t, THING_FILE, c->files[i]);
	for (size_t i = 0; i < g->log_count; i++)
		if (g->logs[i].kind == CONFIG_LOG_FILE)
			add(t, THING_LOG, g->logs[i].path);
	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count; k++)
			add_socket(t, &c->frontends[i].binds[k].addr);
	add_socket(t, &g->admin);
	return 0;
}

/* ---- in the child ---- */

static void folder_of(const char *path, char *folder, size_t room)
{
	const char *slash = strrchr(path, '/');
	const int len = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);

	(void)snprintf(folder, room, "%.*s", len, slash == NULL ? "." : path); /* a cut path is refused */
}

static int try_thing(const struct thing *t)
{
	char folder[PATH_MAX];

	if (t->kind == THING_FILE)
		return access(t->path, R_OK) == 0 ? 0 : errno;
	/* Nothing is created in /dev. */
	if (t->kind == THING_LOG && strncmp(t->path, "/dev/", 5) == 0)
		return access(t->path, W_OK) == 0 ? 0 : errno;
	folder_of(t->path, folder, sizeof(folder));
	return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

/* Writes one number for the change of user, and one per thing: 0 or an errno. */
static _Noreturn void try_all(const struct things *t, struct privileges *p, int to)
{
	int err = -privileges_drop(p);

	for (size_t i = 0; i <= t->count; i++) {
		if (write(to, &err, sizeof(err)) != (ssize_t)sizeof(err) || (i == 0 && err != 0))
			break;
		if (i < t->count)
			err = try_thing(&t->list[i]);
	}
	_exit(0);
}

/* ---- in the parent ---- */

static void report_thing(const struct thing *t, int err, const char *user, user_access_report *report,
			 void *arg)
{
	char line[USER_ACCESS_MAX];

	/* Each may be truncated. */
	if (t->kind == THING_FILE)
		(void)snprintf(line, sizeof(line),
			       "user '%s' cannot read %s: %s; the daemon would start, and refuse to reload",
			       user, t->path, strerror(err));
	else if (t->kind == THING_LOG)
		(void)snprintf(line, sizeof(line),
			       "user '%s' cannot create the log file %s: %s; the daemon would start, and "
			       "could not open it again after a rotation",
			       user, t->path, strerror(err));
	else
		(void)snprintf(line, sizeof(line),
			       "user '%s' cannot create or remove the socket %s: %s; the daemon would start, "
			       "and could not remove it at a stop or reload",
			       user, t->path, strerror(err));
	report(arg, line);
}

static int read_answers(const struct things *t, int from, const char *user, user_access_report *report,
			void *arg)
{
	int err = 0;

	if (read(from, &err, sizeof(err)) != (ssize_t)sizeof(err))
		return -ECHILD;
	if (err)
		return -err;
	for (size_t i = 0; i < t->count; i++) {
		if (read(from, &err, sizeof(err)) != (ssize_t)sizeof(err))
			return -ECHILD;
		if (err == EACCES || err == EPERM || err == EROFS) /* nobody has what is missing */
			report_thing(&t->list[i], err, user, report, arg);
	}
	return 0;
}

static int ask_child(const struct things *t, struct privileges *p, const char *user,
		     user_access_report *report, void *arg)
{
	int ends[2], err;
	pid_t child;

	if (pipe(ends) != 0)
		return -errno;
	child = fork();
	if (child == 0)
		try_all(t, p, ends[1]);
	err = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		err = read_answers(t, ends[0], user, report, arg);
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return err;
}

int user_access_test(const struct config *c, user_access_report *report, void *arg)
{
	struct things t = {0};
	const char *unknown;
	struct privileges p;
	int err;

	if (geteuid() != 0 || c->global.user == NULL)
		return 0;
	if (privileges_find(&c->global, &p, &unknown) != 0 || p.uid == 0)
		return 0; /* `check --probe` reports an unknown user */
	err = collect(&t, c);
	if (!err)
		err = ask_child(&t, &p, c->global.user, report, arg);
	free(t.list);
	return err;
}
