/* SPDX-License-Identifier: MIT
 *
 * admin.h - the admin protocol: the client sends a line of commands, gets the answers, and is disconnected.
 *
 * Commands are separated by `;`. A plain line gets HAProxy's texts and an empty line after each answer, as
 * its tools expect; a line that begins with VOICE_OURS (voice.h) gets ours.
 *
 * Everything is bounded: clients and prompts at a time, the length of a request, waiting times, memory. An
 * answer is written while it is generated: a client that does not read stalls its own answer and nothing
 * else. admin_access.h decides who may use the socket, admin_places.h who gets a place when there are too
 * many. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_H
#define WEIR_ADMIN_ADMIN_H

#include "weir/admin/admin_commands.h"
#include "weir/admin/admin_socket.h"

#define ADMIN_CLIENTS_MAX  CONFIG_ADMIN_CLIENTS_MAX
#define ADMIN_PROMPTS_MAX  8  /* clients that may stay connected after an answer */
#define ADMIN_COMMANDS_MAX 512 /* in one line */
#define ADMIN_REQUEST_MAX  16384 /* a line, as in HAProxy */
#define ADMIN_WAIT_S       5.   /* for the request; for the client's next bytes, sent or read */
#define ADMIN_LINE_S       30.  /* for a line at a prompt, from its first byte to its newline */
#define ADMIN_ANSWER_S     120. /* for an answer, from first byte to last, for the slowest terminal */
/* An answer of this many bytes is written before more of it is generated. */
#define ADMIN_WRITE_BYTES  16384u
/* Maximum memory per client, of which ADMIN_REQUEST_MAX is for a long request. The exception is an answer
 * generated in one go that is longer than ADMIN_WRITE_BYTES. Its length depends only on the configuration,
 * and the next command waits until it has been written. */
#define ADMIN_CLIENT_BYTES 90112u

struct ev_loop;
struct admin;

/* Serves both sockets (borrowed, like `ctx`, until admin_free): the configured one, and the private control
 * socket. Each may be closed. NULL if out of memory. */
struct admin *admin_new(struct ev_loop *loop, struct admin_socket *configured, struct admin_socket *control,
			const struct admin_context *ctx);
/* Closes all clients. */
void admin_free(struct admin *a);

#endif
