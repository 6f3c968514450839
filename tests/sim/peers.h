/* SPDX-License-Identifier: MIT
 *
 * peers.h - who talks through the proxy: clients and servers with a script from the seed, who judge
 * what they receive.
 *
 * Owns the outside's ends of all connections. Uses the model beneath the system calls, never a
 * system call. One thread. Tests only.
 */
#ifndef SIM_PEERS_H
#define SIM_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

#define PEERS_CLIENTS 4
#define PEERS_MAX 48

enum peer_end {
	PEER_FIN,   /* all bytes, FIN, reads to the end, close */
	PEER_CLOSE, /* all bytes, then close at once: what still comes is answered with RST */
	PEER_RST,   /* somewhere in between: RST, what was not on the wire yet is lost */
};

struct peer {
	struct msock *s;    /* our end; NULL before we connect */
	struct peer *other; /* at the other side of the session, as far as that is known */
	bool client;
	int index;
	uint32_t key;
	/* the script */
	uint32_t total;     /* bytes to send */
	uint32_t end_at;    /* PEER_RST: after so many of them */
	uint32_t frag;      /* size of a send, 0 = any */
	uint32_t urgent;    /* percent of sends that are one urgent byte */
	uint32_t read_chance;
	uint32_t read_max;
	uint32_t stall_at;  /* stops reading after so many bytes, UINT32_MAX = never */
	bool reads_first;   /* sends only after the first byte has come */
	enum peer_end end;
	int connect_result; /* server: what the connect comes to */
	uint32_t answer_in; /* server: steps until then */
	bool vanishes;      /* PEER_RST: the kernel gives up on it (ETIMEDOUT) instead of a RST */
	bool black_hole;    /* server: never answers */
	/* what happened */
	uint32_t got;
	bool fin_sent;
	bool eof;
	bool error_taken; /* a send took the one-shot error: the next 0 is no end of file */
	bool closed;
	bool was_reset; /* this side has ended by RST, or what the contract counts as one */
	bool excused;   /* a fault may have ended the session in an honest way */
	bool connected;
	uint32_t promised_turn; /* the other side must be gone after this turn; 0 = no promise */
	int64_t promised_ns;    /* and not before this time */
	int64_t unheard_ns;     /* the time of the first of these */
	uint32_t unheard_turns; /* since our RST has arrived, while the program goes on as if it had not */
};

struct peers {
	struct peer all[PEERS_MAX];
	int count;
	bool live;       /* liveness: no whims any more */
	bool excuse_all; /* a fault fired that may have hit anybody */
	bool no_more;    /* the daemon drains: hardly anybody comes any more */
	bool stopped;    /* at once: who is queued is reset */
	bool in_turn;    /* the program is in the middle of something */
	uint32_t most_bytes; /* of a stream */
	uint32_t patience_turns; /* until a reset with nothing on its way has been passed on */
	int64_t patience_ns;     /* and so long */
};

extern struct peers peers;

void peers_reset(void);
struct peer *peer_new(bool client);
/* A client comes: connects, or stays away while the backlog is full. */
void peer_arrive(struct peer *p);
/* One random act of one peer, or of the wire. */
void peer_act(struct peer *p);
/* Liveness: everything that can be done now; true when something was. */
bool peer_push(struct peer *p);
/* The model's hook: the program connects `s`. */
int peers_on_connect(struct msock *s, const struct sockaddr *sa);
void peers_on_excuse(struct msock *s);

/* judge.c: is this end what the contract promises? Each fails the seed when it is not. */
void judge_eof(const struct peer *p);
void judge_reset(const struct peer *p);
/* After each turn: a reset with nothing on its way is passed on at once. */
void judge_promises(void);
/* After each turn: a reset is noticed at once, also when nobody reads that side because the other one
 * is full (R5). */
void judge_resets(void);
/* Everybody has come to an end. */
void judge_all(void);

#endif
