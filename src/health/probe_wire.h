/* SPDX-License-Identifier: MIT
 *
 * probe_wire.h - the bytes of a health check on their connection: in clear, or through TLS.
 *
 * Part of a probe, which has the socket and the time; with TLS, the handshake comes first, and waits at the
 * prober's gate. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_WIRE_H
#define WEIR_HEALTH_PROBE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe_gate.h"

struct config_check;
struct probe;
struct probe_tls;
struct server;

/* Longest name of a server, with its NUL. */
#define PROBE_NAME_MAX 256

struct probe_wire {
	struct probe_gate *gate; /* borrows; NULL: it makes no handshakes */
	struct probe_pass pass;
	struct probe_tls *tls;   /* owns; NULL = in clear */
	bool secured;            /* the handshake is complete */
	bool waited;             /* at the gate, while the connection was idle */
	int64_t waits_ns;        /* since when it waits there */
	bool keeps_place;        /* inside the gate, over the next probe_wire_end() */
};

/* The name that the server must have for a check over TLS: sni=, host=, or its own. False: it is an
 * address. */
bool probe_wire_name(const struct config_check *c, const struct server *s, char out[PROBE_NAME_MAX]);

void probe_wire_init(struct probe *p);
/* Is a handshake due? */
bool probe_wire_is_due(const struct probe *p);
/* Begins it, or waits at the gate. */
void probe_wire_secure(struct probe *p);
/* It waited and may begin. */
void probe_wire_enter(struct probe *p);
/* Continues it; false if it has to wait, or failed. */
bool probe_wire_shake(struct probe *p);
/* A turn of the loop begins. */
void probe_wire_next_turn(struct probe *p);
/* As sys_send() and sys_recv(); after -EAGAIN, probe_wire_wait(). */
ssize_t probe_wire_send(struct probe *p, const void *data, size_t len);
ssize_t probe_wire_recv(struct probe *p, void *data, size_t len);
void probe_wire_wait(struct probe *p, int events);
/* Ends the check with -errno of these. */
void probe_wire_failed(struct probe *p, int err);
/* Tells the server that nothing more will come. */
void probe_wire_say_goodbye(struct probe *p);
/* Leaves the gate, and frees the session. Harmless if there is none. */
void probe_wire_end(struct probe *p);

#endif
