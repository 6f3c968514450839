/* SPDX-License-Identifier: MIT
 *
 * sock_change.h - other options for a socket that listens, without closing it.
 *
 * What cannot be set late (v6only, interface, freebind, transparent, mptcp) is not looked at: a socket with
 * others has to be bound anew. Clients whose handshake ends after the change get the new options. Measured on
 * Linux 6.18: a listener takes each of them, and each of the defaults. Any thread.
 */
#ifndef WEIR_NET_SOCK_CHANGE_H
#define WEIR_NET_SOCK_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "weir/net/sock.h"

#define SOCK_CHANGE_MAX	  24
#define SOCK_SETTING_ROOM 16 /* a number, or the name of a congestion control */

/* The arguments of one setsockopt(2). */
struct sock_setting {
	enum sock_option which;
	int level;
	int name;
	socklen_t len;
	_Alignas(8) char value[SOCK_SETTING_ROOM];
};

struct sock_change {
	struct sock_setting list[SOCK_CHANGE_MAX];
	size_t count;
	int backlog;  /* for sock_start(), if `queue` */
	bool queue;
};

/* What is known of the socket. */
struct sock_kind {
	int family;
	bool mptcp;
	bool inherited; /* what is no longer wanted stays: its creator may have wanted it */
};

/* Plans to turn the options `now` into `next`: those that differ, and for one that `next` leaves to the
 * kernel its default, as a new socket of this kind has it. Tries each on a socket of that kind, which it
 * closes again. 0, or -errno with the option refused in `*next->tcp.refused`: then nothing may be changed. */
int sock_change_plan(struct sock_change *c, struct sock_kind kind, const struct sock_listen *now,
		     const struct sock_listen *next);
/* Nothing differs? */
bool sock_change_is_empty(const struct sock_change *c);
/* Sets them on `fd`, all that can be set. 0, or the -errno of the first that failed, with that option in
 * `*refused`. */
int sock_change_make(int fd, const struct sock_change *c, enum sock_option *refused);

/* sock_tcp.c, for sock_change.c: adds the options of a TCP connection that differ. `fresh` is a new socket,
 * whose options are the defaults; -1 = they are noted without a value. 0 or -errno. */
int sock_diff_tcp(struct sock_change *c, int fresh, struct sock_kind kind, const struct sock_tcp *now,
		  const struct sock_tcp *next);
/* Adds one. */
void sock_change_add(struct sock_change *c, enum sock_option which, int level, int name, const void *value,
		     socklen_t len);

#endif
