/* SPDX-License-Identifier: MIT
 *
 * talk.h - the protocol between a client and a server of the demo, as a list of steps.
 *
 * A hello has a command, a key and a length; keyed bytes follow, in one or both directions. Both ends run the
 * same steps over a nonblocking socket and verify each byte that arrives. Does not depend on a loop. Main
 * thread of each process.
 */
#ifndef WEIR_DEMO_TALK_H
#define WEIR_DEMO_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALK_HELLO_BYTES 17u
#define TALK_STEPS_MAX	 6

/* The first byte of a hello. No text begins with any of these, so a visitor with curl(1) is not taken for a
 * client. */
enum talk_what {
	TALK_ASK = 0xd1, /* `len` bytes up, then `len` bytes of the next key down */
	TALK_UP,	 /* `len` bytes up and an end, then a hello of TALK_THANKS */
	TALK_DOWN,	 /* `len` bytes down */
	TALK_THANKS,
};

enum talk_step {
	TALK_STEP_STOP, /* the list ends */
	TALK_STEP_SEND_HELLO,
	TALK_STEP_RECV_HELLO,
	TALK_STEP_SEND_BYTES,
	TALK_STEP_RECV_BYTES,
	TALK_STEP_SEND_REPLY, /* bytes of the next key */
	TALK_STEP_RECV_REPLY,
	TALK_STEP_SHUT,	    /* sends nothing more from here on */
	TALK_STEP_RECV_END, /* expects nothing but the end */
};

/* What the talk is waiting for. */
enum talk_need {
	TALK_NEED_READ,
	TALK_NEED_WRITE,
	TALK_NEED_NOTHING, /* the steps are done */
	TALK_NEED_CLOSE,   /* the other side ended at a point where a hello could have begun */
};

struct talk {
	uint64_t key;
	uint64_t len;
	uint64_t done; /* of the current step */
	enum talk_what what;
	unsigned at;
	uint8_t steps[TALK_STEPS_MAX]; /* enum talk_step */
	unsigned char hello[TALK_HELLO_BYTES];
};

/* Is this the first byte of a hello? */
bool talk_is_hello(unsigned char first);
/* The client's side. */
void talk_begin_client(struct talk *t, enum talk_what what, uint64_t key, uint64_t len);
/* After an answered TALK_ASK: asks for nothing more. */
void talk_begin_goodbye(struct talk *t);
/* The server's side: waits for a hello ... */
void talk_begin_server(struct talk *t);
/* ... and answers it. -EPROTO if it is not a valid hello. */
int talk_answer(struct talk *t);

/* Continues as far as `fd` allows, but moves at most one piece, to give other talks a turn. Adds the keyed
 * bytes that went through to `*moved`. Returns an enum talk_need, or -errno: -EBADMSG for a wrong byte,
 * -EPROTO for an early end or bytes after it. */
int talk_go(struct talk *t, int fd, uint64_t *moved);

#endif
