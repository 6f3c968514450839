/* SPDX-License-Identifier: MIT
 *
 * refusal.h - why this machine does not grant what a configuration asks for, as text: at a start and at a
 * reload.
 *
 * Each function writes one line without its end to `why`, `room` bytes: what is wrong, where it was written,
 * and what to do. A line that is too long loses its end. Main thread.
 */
#ifndef WEIR_HOST_REFUSAL_H
#define WEIR_HOST_REFUSAL_H

#include <stddef.h>
#include <sys/types.h>

#include "weir/config/config.h"
#include "weir/host/limits.h"
#include "weir/net/sock.h"

/* A bind that failed. */
struct refusal_bind {
	const struct config_frontend *frontend;
	const struct config_bind *bind;
	int err;
	enum sock_option refused; /* the option that the kernel refused, if it was one */
	pid_t holder;		  /* who listens at the Unix path; 0 = unknown */
};

void refusal_of_bind(const struct refusal_bind *r, char *why, size_t room);
/* `reason` is that of socket_preflight_backends(). */
void refusal_of_servers(const struct config_backend *b, const char *reason, char *why, size_t room);
/* The plan does not fit: see limits_plan(). */
void refusal_of_limits(const struct limits_facts *facts, const struct limits_wish *wish,
		       const struct limits_plan *plan, char *why, size_t room);
/* A target of the log that cannot be opened; `c` NULL: stderr. */
void refusal_of_log(const struct config_log *c, int err, char *why, size_t room);

/* Does it have programs run although this process, which is `euid`, keeps root's rights? Then they could do
 * anything, whatever `user` says. */
bool refusal_of_programs(const struct config *c, uid_t euid, char *why, size_t room);
/* Are there descriptors for the ranges of ports of `c`, as far as this process may raise its limit? Raises
 * it. 0, or -EMFILE with the arithmetic in `why`; 0 if there is no range. */
int refusal_of_ranges(const struct config *c, unsigned workers, char *why, size_t room);

#endif
