/* SPDX-License-Identifier: MIT
 *
 * control_socket.c - the private control socket of a running weir: finding it by the process ID.
 *
 * Tries each place where the daemon may have created it, and asks the kernel which process listens there: an
 * abstract name can be taken by anyone, and a path may belong to another weir. Main thread.
 */
#include "control_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "ask.h"

#define SERVICE_DIRECTORY "/run/weir"
#define RUNTIME_VARIABLE  "RUNTIME_DIRECTORY"
#define ANY_PROCESS	  0
#define PROC_PATH_MAX	  64

/* A search through the places. */
struct search {
	int pid; /* ANY_PROCESS: whoever listens */
	int wait_ms;
	int fd;	 /* the connection, or why there is none: -ENOENT, or another -errno to report */
	struct addr *found;
};

/* The address of a socket at a path, or with an abstract name (a leading '@'); false if it is too long. */
static bool make_addr(const char *text, struct addr *a)
{
	const size_t len = strlen(text);
	const bool is_abstract = text[0] == '@';

	if (len == 0 || len >= sizeof(a->un.sun_path))
		return false;
	memset(a, 0, sizeof(*a));
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, text, len + 1);
	if (is_abstract)
		a->un.sun_path[0] = '\0';
	/* A path includes its NUL, an abstract name has none. */
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (is_abstract ? 0 : 1));
	return true;
}

/* Is this the process that we look for, and one that would obey us? 0, -ESRCH or -EACCES. */
static int check_peer(int fd, int pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	const uid_t self = geteuid();
	const int err = sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);

	if (err)
		return err;
	if (pid != ANY_PROCESS && peer.pid != pid)
		return -ESRCH;
	return self == 0 || peer.uid == 0 || peer.uid == self ? 0 : -EACCES;
}

/* Does it only mean that the socket is not there, or not the right one? */
static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ECONNREFUSED || err == -ESRCH;
}

/* Tries one place. True if the search is over. */
static bool try_place(struct search *s, const char *text)
{
	struct addr_spec spec = {.kind = ADDR_UNIX};
	int fd, err;

	if (!make_addr(text, &spec.addr))
		return false;
	fd = ask_connect(&spec, s->wait_ms);
	err = fd < 0 ? fd : check_peer(fd, s->pid);
	if (err && fd >= 0)
		sys_close(fd);
	/* A reason to report, unless a later place is the right one. */
	if (err && (s->fd != -ENOENT || is_elsewhere(err)))
		return false;
	s->fd = err ? err : fd;
	*s->found = spec.addr;
	return !err;
}

/* Tries weir.control in the first folder of `directories`, a list like $RUNTIME_DIRECTORY. */
static bool try_directory(struct search *s, const char *directories)
{
	char path[sizeof(struct sockaddr_un)];
	const int len = (int)strcspn(directories, ":");

	if (directories[0] != '/' ||
	    snprintf(path, sizeof(path), "%.*s/weir.control", len, directories) >= (int)sizeof(path))
		return false;
	return try_place(s, path);
}

static bool try_own_environment(struct search *s)
{
	const char *directories = getenv(RUNTIME_VARIABLE);

	return directories != NULL && try_directory(s, directories);
}

/* Opens a file of strings, each with its NUL, about the process; NULL if it cannot be read. */
static FILE *open_strings(const struct search *s, const char *name)
{
	char path[PROC_PATH_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", s->pid, name); /* at most ten digits */
	return fopen(path, "re");
}

static bool try_its_environment(struct search *s)
{
	static const char prefix[] = RUNTIME_VARIABLE "=";
	FILE *in = open_strings(s, "environ");
	char *text = NULL;
	size_t room = 0;
	bool over = false;

	if (in == NULL)
		return false;
	while (!over && getdelim(&text, &room, '\0', in) > 0)
		if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
			over = try_directory(s, text + sizeof(prefix) - 1);
	free(text);
	(void)fclose(in); /* only read */
	return over;
}

static bool try_beside_pid_file(struct search *s, const char *folder, const char *pid_path)
{
	char path[sizeof(struct sockaddr_un)];

	if (snprintf(path, sizeof(path), "%s%s.control", folder, pid_path) >= (int)sizeof(path))
		return false;
	return try_place(s, path);
}

/* Tries the pid file of its own command line. A relative one starts from its directory. */
static bool try_its_pid_file(struct search *s)
{
	FILE *in = open_strings(s, "cmdline");
	char folder[PROC_PATH_MAX] = "";
	bool over = false, is_value = false;
	char *text = NULL;
	size_t room = 0;

	if (in == NULL)
		return false;
	while (!over && getdelim(&text, &room, '\0', in) > 0) {
		if (is_value && text[0] != '/')
			(void)snprintf(folder, sizeof(folder), "/proc/%d/cwd/", s->pid); /* ten digits */
		if (is_value)
			over = try_beside_pid_file(s, folder, text);
		is_value = strcmp(text, "-p") == 0;
	}
	free(text);
	(void)fclose(in); /* only read */
	return over;
}

int control_socket_of(int pid, const char *pid_path, int wait_ms, struct addr *found)
{
	struct search s = {.pid = pid, .wait_ms = wait_ms, .fd = -ENOENT, .found = found};
	char name[32];

	check(pid != ANY_PROCESS);
	(void)snprintf(name, sizeof(name), "@weir-%d", pid); /* at most ten digits */
	if (try_own_environment(&s) || try_its_environment(&s) || try_directory(&s, SERVICE_DIRECTORY) ||
	    (pid_path != NULL && try_beside_pid_file(&s, "", pid_path)) || try_its_pid_file(&s))
		return s.fd;
	(void)try_place(&s, name); /* the last */
	return s.fd;
}

int control_socket_of_service(int wait_ms, struct addr *found)
{
	struct search s = {.pid = ANY_PROCESS, .wait_ms = wait_ms, .fd = -ENOENT, .found = found};

	if (!try_own_environment(&s))
		(void)try_directory(&s, SERVICE_DIRECTORY);
	return s.fd;
}
