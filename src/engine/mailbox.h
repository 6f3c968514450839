/* SPDX-License-Identifier: MIT
 *
 * mailbox.h - how other threads talk to a worker: signals that merge, and a ring of letters.
 *
 * Senders: any thread. Reader: the worker. The ring has a spinlock; a full ring refuses a letter, and the
 * sender keeps it.
 */
#ifndef WEIR_ENGINE_MAILBOX_H
#define WEIR_ENGINE_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/spinlock.h"
#include "weir/io/io.h"
#include "weir/net/addr.h"

#define MAILBOX_LETTERS 256

enum mail_signal {
	MAIL_RESUME = 1, /* a paused listener may have room */
	MAIL_DRAIN = 2,  /* accept no more; end with the last session */
	MAIL_STOP = 4,   /* end all sessions, then end */
	MAIL_PING = 8,   /* answer, to show that the loop turns */
	MAIL_GRANTS = 16, /* queued sessions were given a place at a server */
	MAIL_EVICT = 32, /* the sessions of some server must end: its `ends` holds the number */
	MAIL_LOOK = 64, /* a client waits for a session of its source, perhaps here, that is ending */
	MAIL_PLACES = 128, /* a client that waits for that has a place, or none to hope for */
	MAIL_ASKED = 256, /* control asks for sessions: see inquiry.h */
	MAIL_ROUND = 512, /* a round of retirement has begun: see rounds.h */
	MAIL_ENDPOINTS = 1024, /* some endpoint has come, or has another order */
	MAIL_MAXIMA = 2048, /* maxima begin anew: tally_begin_anew() */
	MAIL_TIMES = 4096,  /* the same for average times */
	MAIL_NAMES = 8192,  /* questions about names were answered: egress.h */
};

struct endpoint_settings;

/* An accepted connection, on its way to the worker that serves it. */
struct letter {
	int fd; /* the reader owns it from now on */
	bool rated; /* rate-limit has counted the client */
	/* Borrows; not counted: see base/retire.h. The version by which the listener judged the client. */
	struct endpoint_settings *entry;
	struct addr_brief client;
};

struct mailbox {
	struct io_loop *loop; /* borrows: the loop to wake */
	_Alignas(64) atomic_uint signals;
	atomic_bool awake; /* a wake-up is already under way */
	struct spinlock lock;
	uint32_t head;
	uint32_t tail;
	bool closed; /* the reader has ended */
	struct letter letters[MAILBOX_LETTERS];
};

void mailbox_init(struct mailbox *m, struct io_loop *loop);
/* Any thread. */
void mailbox_signal(struct mailbox *m, enum mail_signal signal);
/* False when the ring is full or closed; nothing was taken in that case. Any thread. */
bool mailbox_send(struct mailbox *m, const struct letter *letter);
/* Reader: the signals since the last call. Call before mailbox_take(). */
unsigned mailbox_signals(struct mailbox *m);
/* Reader: the oldest letter; false when there is none. */
bool mailbox_take(struct mailbox *m, struct letter *out);
/* Reader: has it yet to take this signal? */
bool mailbox_is_signalled(const struct mailbox *m, enum mail_signal signal);
/* Reader: how many letters were sent so far; it wraps. */
uint32_t mailbox_sent(struct mailbox *m);
/* Reader: were all that were sent up to that number taken? */
bool mailbox_has_taken(struct mailbox *m, uint32_t sent);
/* Reader: accepts no more letters; false, and it stays open, when some are left. */
bool mailbox_close(struct mailbox *m);

#endif
