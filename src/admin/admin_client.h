/* SPDX-License-Identifier: MIT
 *
 * admin_client.h - a connection to the admin socket, as admin.c keeps it and admin_accept.c begins it.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_CLIENT_H
#define WEIR_ADMIN_ADMIN_CLIENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/admin/admin.h"
#include "weir/base/log.h"
#include "weir/stats/question.h"
#include "admin_access.h"
#include "admin_listing.h"

enum client_state {
	CLIENT_FREE,
	CLIENT_READING,   /* the request is not complete */
	CLIENT_ASKING,    /* a worker is to answer, before the deadline of `asked`; all before is out */
	CLIENT_WRITING,   /* the answer so far is not out */
	CLIENT_LINGERING, /* all is said; what the client still sends is thrown away, because a close
			   * with unread bytes would reset the connection and take the answer along */
};

struct client {
	struct admin *admin; /* borrows */
	enum client_state state;
	int fd; /* owns; -1 when free */
	struct admin_peer peer;
	struct ev_io io;
	struct ev_timer timer;
	char request[ADMIN_REQUEST_MAX + 1];
	size_t request_len;
	size_t line_len; /* of `request`: the line being answered, with its newline */
	bool linger;     /* more may come after what was read */
	bool prompt;     /* stays open after an answer */
	bool quit;       /* has said so: no answer is owed */
	double wait_s;   /* how long it may be silent */
	int64_t progress_ns; /* when it last sent or took bytes, or was served; CLOCK_MONOTONIC */
	int64_t answer_by_ns; /* the answer must be out by then */
	char *rest;      /* commands not yet run, inside `request`; NULL = none */
	unsigned answered;
	struct admin_question question; /* the last one; ADMIN_ANSWERED unless workers are being asked */
	struct question asked; /* of the workers, for it */
	struct admin_listing listing;
	struct text answer; /* owns; what is not out yet */
	size_t sent;        /* of this */
	bool said;          /* something of the answer is out */
	bool whole;         /* nothing follows behind `answer` */
	size_t thrown_away;
};

struct admin {
	struct ev_loop *loop;            /* borrows */
	struct admin_socket *socket;     /* borrows */
	const struct admin_context *ctx; /* borrows */
	struct admin_access access;
	struct log_limit limit; /* of lines about peers that are refused or lose their place */
	double line_s, answer_s; /* ADMIN_LINE_S, ADMIN_ANSWER_S */
	unsigned turn;   /* how many newcomers may cost another its place before they wait again */
	bool turn_due;   /* the wait is for a place, not for a descriptor */
	struct ev_io accept;             /* active while newcomers are let in */
	struct ev_timer accept_retry;
	struct client clients[ADMIN_CLIENTS_MAX];
};

/* A free client takes `fd`, and waits for a request. */
void client_begin(struct client *c, int fd, const struct admin_peer *peer);
/* Sends `c->answer`, then goes on or ends; may have closed `c` when it returns. */
void client_answer(struct client *c);
/* In any state but free. */
void client_close(struct client *c);

#endif
