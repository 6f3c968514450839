/* SPDX-License-Identifier: MIT
 *
 * admin.h - the admin protocol: one line of commands in, their answers out, close.
 *
 * Commands are separated by `;`. Bounded: so many clients at once, so many prompts, so long a request, so
 * long a wait, so much memory. An answer is written while it is made: a client that does not read stops what
 * is made for it, and nothing else. Who may use the socket is admin_access.h's, who has a place when there
 * are too many admin_places.h's rule. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_H
#define WEIR_ADMIN_ADMIN_H

#include "weir/admin/admin_commands.h"
#include "weir/admin/admin_socket.h"

#define ADMIN_CLIENTS_MAX  CONFIG_ADMIN_CLIENTS_MAX
#define ADMIN_PROMPTS_MAX  8  /* of these, who may stay after an answer */
#define ADMIN_COMMANDS_MAX 32 /* in one line */
#define ADMIN_REQUEST_MAX  1024
#define ADMIN_WAIT_S       5.   /* for the request; for the next bytes to be taken, or to come */
#define ADMIN_LINE_S       30.  /* from the first byte of a line at a prompt to its newline */
#define ADMIN_ANSWER_S     120. /* from the first byte of an answer to its last, for the slowest terminal */
/* An answer that has so many bytes is written before it goes on. */
#define ADMIN_WRITE_BYTES  16384u
/* The most memory that a client takes, but for an answer that is made at once and is longer than
 * ADMIN_WRITE_BYTES: that depends on the configuration alone, and the next command waits until it is out. */
#define ADMIN_CLIENT_BYTES 65536u

struct ev_loop;
struct admin;

/* Serves `socket` (borrowed, as `ctx` is, until admin_free). NULL without memory. */
struct admin *admin_new(struct ev_loop *loop, struct admin_socket *socket, const struct admin_context *ctx);
/* Closes all clients. */
void admin_free(struct admin *a);

#endif
