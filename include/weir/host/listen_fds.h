/* SPDX-License-Identifier: MIT
 *
 * listen_fds.h - sockets passed by another process: `bind = fd@NAME` and `fd@N`.
 *
 * The protocol of sd_listen_fds(3): LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES in the environment, descriptors
 * from 3 on. Main thread, before any of our own listeners exist.
 */
#ifndef WEIR_HOST_LISTEN_FDS_H
#define WEIR_HOST_LISTEN_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "weir/engine/engine.h"

#define LISTEN_FDS_FIRST 3
/* More than any service has; a larger number is a mistake. */
#define LISTEN_FDS_MAX 4096u

struct listen_fd {
	int fd;		  /* owned until taken */
	bool taken;	  /* an endpoint has it */
	bool missing;	  /* it was not open when the environment was read */
	const char *name; /* points into the names of struct listen_fds */
};

struct listen_fds {
	struct listen_fd *list; /* owns */
	size_t count;
	char *names;	/* owns */
	long other_pid; /* LISTEN_PID names this other process; 0 = it does not */
};

/* Why a descriptor is not a usable listener. */
enum listen_fd_verdict {
	LISTEN_FD_FINE,
	LISTEN_FD_CLOSED,
	LISTEN_FD_NO_SOCKET,
	LISTEN_FD_NO_FAMILY, /* neither TCP nor Unix */
	LISTEN_FD_NO_STREAM,
	LISTEN_FD_DEAF, /* listen(2) was not called */
};

/* Parses the three values (NULL = not set) for the process `pid`. 0; -EINVAL if they violate the protocol,
 * with a static sentence in `*why`; -ENOMEM. Touches no descriptor. */
int listen_fds_parse(struct listen_fds *l, const char *const values[static 3], pid_t pid, const char **why);
/* The same from the environment, which it clears so that no child takes the descriptors for its own, and sets
 * them close-on-exec. Call before opening anything: a number that is not open now was not passed, and must
 * not be confused with something we open later. */
int listen_fds_read(struct listen_fds *l, const char **why);
/* Examines a descriptor. */
enum listen_fd_verdict listen_fd_look(int fd);

/* Gives each fd@ bind of the engine's configuration its sockets, nonblocking. 0, or -errno with the problem
 * and the remedy in `why`. */
int listen_fds_adopt(struct listen_fds *l, struct engine *e, char *why, size_t room);
/* Closes the passed sockets that nothing uses, and logs one line for all of them. */
void listen_fds_close(struct listen_fds *l);
/* Frees the list without closing anything else. */
void listen_fds_free(struct listen_fds *l);

#endif
