/* SPDX-License-Identifier: MIT
 *
 * listen_fds.c - sockets passed by another process: `bind = fd@NAME` and `fd@N`.
 *
 * Owns the passed descriptors until an endpoint takes them. Creates no sockets, and refuses one that does not
 * listen yet, so that a wrong unit file shows up at startup and not with the first client. Main thread.
 */
#include "weir/host/listen_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/suggest.h"
#include "weir/config/values.h"
#include "weir/host/socket_preflight.h"
#include "weir/sys/sys.h"

/* What sd_listen_fds_with_names(3) calls a descriptor without a name. */
#define NAME_UNKNOWN "unknown"

static const char *const environment[3] = {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"};

/* ---- reading ---- */

/* Splits "a:b:c" into `count` names; false if the number differs. */
static bool cut_names(struct listen_fds *l)
{
	char *name = l->names;
	size_t n = 0;

	for (;;) {
		char *colon = strchr(name, ':');

		if (n == l->count)
			return false;
		l->list[n++].name = name[0] != '\0' && *name != ':' ? name : NAME_UNKNOWN;
		if (colon == NULL)
			return n == l->count;
		*colon = '\0';
		name = colon + 1;
	}
}

int listen_fds_parse(struct listen_fds *l, const char *const values[static 3], pid_t pid, const char **why)
{
	const char *pid_text = values[0], *count_text = values[1], *names = values[2];
	uint64_t meant = 0, count = 0;

	memset(l, 0, sizeof(*l));
	if (pid_text == NULL || count_text == NULL)
		return 0;
	*why = "LISTEN_PID is not a process ID";
	if (value_number(pid_text, &meant) != 0 || meant == 0 || meant > INT32_MAX)
		return -EINVAL;
	if ((pid_t)meant != pid) {
		l->other_pid = (long)meant;
		return 0;
	}
	*why = "LISTEN_FDS is not a number of descriptors";
	if (value_number(count_text, &count) != 0 || count > LISTEN_FDS_MAX)
		return -EINVAL;
	if (count == 0)
		return 0;
	l->list = calloc((size_t)count, sizeof(*l->list));
	l->names = strdup(names != NULL ? names : "");
	*why = "no memory";
	if (l->list == NULL || l->names == NULL) {
		listen_fds_free(l);
		return -ENOMEM;
	}
	l->count = (size_t)count;
	for (size_t i = 0; i < l->count; i++)
		l->list[i] = (struct listen_fd){.fd = LISTEN_FDS_FIRST + (int)i, .name = NAME_UNKNOWN};
	if (names == NULL || cut_names(l))
		return 0;
	*why = "LISTEN_FDNAMES and LISTEN_FDS disagree on the number of names";
	listen_fds_free(l);
	return -EINVAL;
}

int listen_fds_read(struct listen_fds *l, const char **why)
{
	const char *values[3];
	int err;

	for (size_t i = 0; i < ARRAY_LEN(environment); i++)
		values[i] = getenv(environment[i]);
	err = listen_fds_parse(l, values, getpid(), why);
	for (size_t i = 0; i < ARRAY_LEN(environment); i++)
		(void)unsetenv(environment[i]); /* fails only for a name with '=' */
	for (size_t i = 0; i < l->count; i++)
		l->list[i].missing = fcntl(l->list[i].fd, F_SETFD, FD_CLOEXEC) != 0;
	return err;
}

/* ---- examining ---- */

static int socket_option(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) != 0 ? -errno : value;
}

enum listen_fd_verdict listen_fd_look(int fd)
{
	const int domain = socket_option(fd, SO_DOMAIN);
	int protocol;

	if (domain == -EBADF)
		return LISTEN_FD_CLOSED;
	if (domain < 0)
		return LISTEN_FD_NO_SOCKET;
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)
		return LISTEN_FD_NO_FAMILY;
	if (socket_option(fd, SO_TYPE) != SOCK_STREAM)
		return LISTEN_FD_NO_STREAM;
	protocol = socket_option(fd, SO_PROTOCOL);
	if (domain != AF_UNIX && protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP)
		return LISTEN_FD_NO_FAMILY;
	return socket_option(fd, SO_ACCEPTCONN) == 1 ? LISTEN_FD_FINE : LISTEN_FD_DEAF;
}

static const char *verdict_text(enum listen_fd_verdict v)
{
	static const char *const texts[] = {
	    [LISTEN_FD_FINE] = "fine",
	    [LISTEN_FD_CLOSED] = "is not open",
	    [LISTEN_FD_NO_SOCKET] = "is not a socket; a .socket unit passes one for each ListenStream=",
	    [LISTEN_FD_NO_FAMILY] = "is neither a TCP nor a Unix socket",
	    [LISTEN_FD_NO_STREAM] = "is not a stream socket; write ListenStream= in the .socket unit",
	    [LISTEN_FD_DEAF] = "does not listen; a .socket unit must say Accept=no",
	};

	return texts[v];
}

/* ---- handing out to endpoints ---- */

/* "'web', 'api'": each name once, truncated to `room`. */
static const char *list_names(const struct listen_fds *l, char *buf, size_t room)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < l->count; i++) {
		bool seen = false;
		int n;

		for (size_t k = 0; k < i && !seen; k++)
			seen = strcmp(l->list[k].name, l->list[i].name) == 0;
		if (seen)
			continue;
		n = snprintf(buf + used, room - used, "%s'%s'", used > 0 ? ", " : "", l->list[i].name);
		if (n < 0 || (size_t)n >= room - used)
			break; /* a truncated list will do */
		used += (size_t)n;
	}
	return buf;
}

static int refuse_unpassed(const struct listen_fds *l, const char *name, char *why, size_t room)
{
	char names[256];
	struct suggest near;

	if (l->other_pid != 0) {
		(void)snprintf(why, room,
			       "the sockets were passed to process %ld (LISTEN_PID), and this one is %d; "
			       "start weir directly, not through a shell or wrapper that keeps running",
			       l->other_pid, (int)getpid());
		return -ENOENT;
	}
	if (l->count == 0) {
		(void)snprintf(why, room,
			       "no socket was passed; start weir from a .socket unit with "
			       "FileDescriptorName=%s, "
			       "or write an address",
			       name);
		return -ENOENT;
	}
	suggest_init(&near, name);
	for (size_t i = 0; i < l->count; i++)
		suggest_offer(&near, l->list[i].name, NULL);
	(void)snprintf(why, room, "no socket with this name was passed, only %s%s%s%s",
		       list_names(l, names, sizeof(names)), near.best != NULL ? "; did you mean '" : "",
		       near.best != NULL ? near.best : "", near.best != NULL ? "'?" : "");
	return -ENOENT;
}

/* Examines and prepares one descriptor, and stores it in `slot`. `f` is NULL if it was not passed by the
 * protocol. 0 or -errno. */
static int take_fd(struct listen_fd *f, int fd, int *slot, char *why, size_t room)
{
	const enum listen_fd_verdict v = f != NULL && f->missing ? LISTEN_FD_CLOSED : listen_fd_look(fd);
	const char *name = f != NULL ? f->name : NULL;
	int flags;

	if (v != LISTEN_FD_FINE) {
		(void)snprintf(why, room, "descriptor %d%s%s%s %s", fd, name != NULL ? " ('" : "",
			       name != NULL ? name : "", name != NULL ? "')" : "", verdict_text(v));
		return -ENOTSOCK;
	}
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
		(void)snprintf(why, room, "descriptor %d: %s", fd, strerror(errno));
		return -errno;
	}
	*slot = fd;
	if (f != NULL)
		f->taken = true;
	return 0;
}

/* For fd@3: one of the passed descriptors, or one that this process simply has open, as in HAProxy. */
static int collect_number(struct listen_fds *l, const struct engine *e, int fd, int *slot, char *why,
			  size_t room)
{
	struct listen_fd *passed = NULL;

	if (entries_have_fd(&e->entries, fd)) {
		(void)snprintf(why, room,
			       "descriptor %d belongs to another bind already, which uses its name", fd);
		return -EBUSY;
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].fd == fd)
			passed = &l->list[i];
	return take_fd(passed, fd, slot, why, room);
}

/* Stores all descriptors with that name in `fds`; returns the count or -errno. */
static ssize_t collect_name(struct listen_fds *l, const char *name, int *fds, char *why, size_t room)
{
	bool known = false;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < l->count; i++) {
		struct listen_fd *f = &l->list[i];

		if (strcmp(f->name, name) != 0)
			continue;
		known = true;
		if (f->taken)
			continue;
		err = take_fd(f, f->fd, &fds[n++], why, room);
		if (err)
			return err;
	}
	if (!known)
		return refuse_unpassed(l, name, why, room);
	if (n > 0)
		return (ssize_t)n;
	(void)snprintf(why, room, "its descriptors belong to other binds already, which use their numbers");
	return -EBUSY;
}

/* Why a passed socket cannot be set up; names the option of its bind that failed, if any. */
static void explain_refusal(const struct engine *e, const struct config_bind *b, int err, char *why,
			    size_t room)
{
	char text[OPTION_ERROR_MAX];

	(void)snprintf(why, room, "cannot set it up: %s", strerror(-err));
	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (ep->origin == b && ep->refused != SOCK_OPTION_NONE)
				(void)snprintf(why, room, "%s",
					       bind_option_error(ep->refused, err, fe->config, b, text));
		}
	}
}

static int adopt_bind(struct listen_fds *l, struct engine *e, const struct config_bind *b, char *why,
		      size_t room)
{
	const int number = addr_spec_fd(&b->addr);
	int *fds = calloc(l->count + 1, sizeof(*fds));
	ssize_t n = 1;
	int err = 0;

	if (fds == NULL) {
		(void)snprintf(why, room, "no memory");
		return -ENOMEM;
	}
	memset(fds, -1, (l->count + 1) * sizeof(*fds));
	if (number >= 0)
		err = collect_number(l, e, number, fds, why, room);
	else
		n = collect_name(l, b->addr.host, fds, why, room);
	if (n < 0)
		err = (int)n;
	if (!err) {
		err = entries_adopt(&e->entries, b, fds, (size_t)n);
		if (err)
			explain_refusal(e, b, err, why, room);
	}
	for (size_t i = 0; i <= l->count; i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	free(fds);
	return err;
}

int listen_fds_adopt(struct listen_fds *l, struct engine *e, char *why, size_t room)
{
	char text[LOG_RECORD_MAX / 2];

	for (size_t i = 0; i < e->config->frontend_count; i++) {
		const struct config_frontend *f = &e->config->frontends[i];

		for (size_t k = 0; k < f->bind_count; k++) {
			const struct config_bind *b = &f->binds[k];
			char address[ADDR_TEXT_MAX];
			int err;

			if (b->addr.kind != ADDR_FD)
				continue;
			err = adopt_bind(l, e, b, text, sizeof(text));
			if (!err)
				continue;
			(void)snprintf(why, room, "cannot listen on %s (%s:%u): %s",
				       addr_spec_format(&b->addr, address), b->place.file, b->place.line,
				       text);
			return err;
		}
	}
	return 0;
}

void listen_fds_close(struct listen_fds *l)
{
	char text[LOG_RECORD_MAX / 2];
	size_t used = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct listen_fd *f = &l->list[i];
		int n;

		if (f->taken || f->missing)
			continue;
		sys_close(f->fd);
		f->taken = true;
		n = snprintf(text + used, sizeof(text) - used, "%s%d ('%s')", used > 0 ? ", " : "", f->fd,
			     f->name);
		if (n > 0 && (size_t)n < sizeof(text) - used)
			used += (size_t)n;
	}
	text[used] = '\0';
	if (used > 0)
		log_line(LOG_LEVEL_WARNING,
			 "closed passed sockets that no bind uses: %s; write bind = fd@NAME, or remove them "
			 "from the .socket unit",
			 text);
}

void listen_fds_free(struct listen_fds *l)
{
	free(l->list);
	free(l->names);
	l->list = NULL;
	l->names = NULL;
	l->count = 0;
}
