/* SPDX-License-Identifier: MIT
 *
 * session.h - one client connection, one server connection, two flows.
 *
 *   ACCEPTED -> [HANDSHAKE] -> [HELD] -> [SNIFFING] -> [QUEUED] -> [RESOLVING] -> CONNECTING <-> WAITING
 *                                                                                     |
 *                                                                                     +--> FORWARDING
 *                                                                                               |
 *                                                                                            CLOSING
 *
 * A try that failed goes back to QUEUED if every other server is full. Each state may go to CLOSING; a
 * session that closes is freed at the end of the turn in which its last op has completed.
 *
 * session_close() (session_end.h) is the only exit; only session_set_state() changes the state.
 * Freed by the worker at the end of a turn, when no op is pending. At most 512 bytes with its
 * share of the timer heap. A worker's thread.
 */
#ifndef WEIR_ENGINE_SESSION_H
#define WEIR_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/account/session_state.h"
#include "weir/base/list.h"
#include "weir/engine/engine.h"
#include "weir/io/io.h"
#include "flow.h"

enum side_name { SIDE_CLIENT, SIDE_SERVER };

/* How a side's socket is closed. */
enum side_end {
	SIDE_CLOSE,         /* close(2): FIN after what was written */
	SIDE_RESET,         /* RST at once */
	SIDE_DELIVER_RESET, /* RST once all that was written is acknowledged */
};

struct side {
	struct io_sock sock;
};

struct session {
	struct list link; /* in the worker's live, closing or waiting list */
	struct timer timer;
	struct worker *worker;     /* borrows, for its lifetime */
	struct endpoint_settings *entry; /* counted: what the client came in by */
	const struct backend_settings *back; /* counted; the frontend's default until admission has chosen */
	const struct server_settings *at; /* counted: of the last try; NULL before the first */
	struct session_extra *extra; /* owns; NULL unless needed, see extra.h */
	struct side sides[2];
	struct flow flows[2];
	struct addr_brief client;
	int64_t accepted_ns;
	int64_t last_ns; /* when a byte last moved or a side finished; before that: when the try began */
	int64_t fixed_ns;     /* the deadline of a connect, a wait or a delivery */
	uint32_t number;      /* among this worker's sessions, for log lines */
	uint32_t unacked[2];  /* of each side's send queue: at the close; before that, when it seemed idle */
	uint32_t half_mark;   /* bytes_out of the other flow when the first source ended (the low bits) */
	uint32_t before_us;   /* time from accept to the first try, without queues */
	uint32_t connect_us;  /* 1 + time that the tries took, without queues; 0 = never connected */
	uint16_t tries;
	uint8_t state;        /* enum session_state */
	uint8_t reason;       /* enum close_reason; valid once something failed or it closes */
	uint8_t log_state : 4; /* the state in which it began to close */
	bool server_late : 1; /* of timeout-half-closed: the server had not finished */
	bool empty : 1; /* log-empty: its client left without having sent a byte */
	uint8_t failed : 2;     /* 1 + the side that was reset or lost; 0 = none */
	uint8_t limited_by : 3; /* enum limited_by; valid once it closes */
	bool try_failed : 1;    /* the failure of its last try was noted: failing.h */
	bool trial : 1;         /* it tries a server that is out: comeback.h */
	uint8_t ends[2]; /* enum side_end */
	uint8_t last_dir;  /* enum flow_dir: where the last bytes went */
	uint8_t sources_tried; /* source addresses of the server tried so far in this try */
	/* While forwarding, per enum flow_dir: the error that the splice of a flow returned. Before that, [0]
	 * is the error of the try whose socket is being closed. */
	int16_t errors[2];
	bool connect_again : 1; /* the Unix backlog was full: connect the same socket again */
	bool server_nodelay : 1; /* TCP_NODELAY is still to be set, before the second write */
	bool ack_waits : 1; /* the ACK of the server's handshake may still be ours to send */
	bool server_counted : 1; /* counted in server->sessions */
	bool backend_counted : 1; /* admitted: counted in the tally of its backend */
	bool looked_at : 1; /* it seemed idle: `unacked` was noted, and fixed_ns says when to look again */
	bool server_down : 1; /* its server was marked down during this try, whose result no longer matters */
	bool halted : 1; /* it waits for acknowledgements no more */
	bool slotless : 1; /* its reservations of maxconn have been given back already */
	bool evict_mark : 1; /* evict.h */
	uint8_t sum_mark : 2; /* tallies.h: the last walk that added its bytes to a sum; 0 = none */
	bool rated : 1; /* rate-limit counted it before it was accepted */
	bool drains : 1; /* it was told to drain: session_drain.h */
	bool redispatched : 1; /* a try went to another server than the one before */
	bool judged : 1; /* its own address, which is the client's, was judged: no objection */
};

_Static_assert(sizeof(struct session) + sizeof(struct timer_entry) <= 512,
	       "an idle session costs at most 512 bytes");

_Static_assert(LIMITS <= 8, "it fits into s->limited_by");
_Static_assert(CLOSE_REASONS <= UINT8_MAX, "a close reason fits into s->reason");
_Static_assert(SESSION_CLOSING < 16, "session_set_state() has a bit for each state");

static inline struct session *flow_session(struct flow *f)
{
	return container_of(f - f->dir, struct session, flows[0]);
}

/* Changes the state; asserts that the new state may follow the old one. */
void session_set_state(struct session *s, enum session_state state);
/* Counts what the session uses from now on in the worker's table, and no longer what it used before: the
 * settings in effect of a backend, of a server. */
void session_use_backend(struct session *s, const struct backend *b);
void session_use_server(struct session *s, const struct server *server);
/* The session ends: it uses nothing any more. */
void session_use_nothing(struct session *s);
/* Is it still forwarding? Asked after each step that may have closed it. */
static inline bool session_is_forwarding(const struct session *s)
{
	return s->state == SESSION_FORWARDING;
}

#endif
