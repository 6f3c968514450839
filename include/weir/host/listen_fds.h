/* SPDX-License-Identifier: MIT
 *
 * listen_fds.h - sockets that another process passed to us: `bind = fd@NAME` and `fd@N`.
 *
 * The protocol of sd_listen_fds(3): LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES in the environment,
 * descriptors from 3 on. Main thread, before anything of ours listens.
 */
#ifndef WEIR_HOST_LISTEN_FDS_H
#define WEIR_HOST_LISTEN_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "weir/engine/engine.h"

#define LISTEN_FDS_FIRST 3
/* More than any service has; a larger number is a mistake, not a wish. */
#define LISTEN_FDS_MAX 4096u

struct listen_fd {
	int fd;		  /* owns until it is taken */
	bool taken;	  /* an endpoint's by now */
	bool missing;	  /* it was not open when the environment was read */
	const char *name; /* inside the names of struct listen_fds */
};

struct listen_fds {
	struct listen_fd *list; /* owns */
	size_t count;
	char *names;	/* owns */
	long other_pid; /* the environment speaks of this process and not of us; 0 = no */
};

/* Why a descriptor is no listener. */
enum listen_fd_verdict {
	LISTEN_FD_FINE,
	LISTEN_FD_CLOSED,
	LISTEN_FD_NO_SOCKET,
	LISTEN_FD_NO_FAMILY, /* neither TCP nor Unix */
	LISTEN_FD_NO_STREAM,
	LISTEN_FD_DEAF, /* listen(2) was not called */
};

/* Reads the three values (NULL = not set) for the process `pid`. 0; -EINVAL when they contradict the
 * protocol, with `*why` a static sentence; -ENOMEM. Touches no descriptor. */
int listen_fds_parse(struct listen_fds *l, const char *const values[static 3], pid_t pid, const char **why);
/* The same from the environment, which loses them, so that no child takes them for its own; the
 * descriptors become close-on-exec. Call before anything is opened: a number that is not open now is
 * nobody's, and must not be taken for what we open there later. */
int listen_fds_read(struct listen_fds *l, const char **why);
/* Looks at a descriptor. */
enum listen_fd_verdict listen_fd_look(int fd);

/* Gives each fd@ bind of the engine's configuration its sockets, nonblocking. 0, or -errno with what
 * is wrong and what to do in `why`. */
int listen_fds_adopt(struct listen_fds *l, struct engine *e, char *why, size_t room);
/* Closes what was passed and nobody wanted, and says so in one line for all. */
void listen_fds_close(struct listen_fds *l);
/* Frees the list, closes nothing more. */
void listen_fds_free(struct listen_fds *l);

#endif
