/* SPDX-License-Identifier: MIT
 *
 * talk.h - what a client and a server of the demo say to each other, as a list of steps.
 *
 * A hello names what is wanted, a key and a length; keyed bytes follow, in one direction or in both.
 * Both ends run the same steps over a nonblocking socket, and each byte that arrives is verified.
 * Knows no loop. Main thread of each process.
 */
#ifndef WEIR_DEMO_TALK_H
#define WEIR_DEMO_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALK_HELLO_BYTES 17u
#define TALK_STEPS_MAX	 6

/* The first byte of a hello. No text begins so: a visitor with curl(1) is told apart by it. */
enum talk_what {
	TALK_ASK = 0xd1, /* `len` bytes up, then `len` bytes of the next key down */
	TALK_UP,	 /* `len` bytes up and an end, then a hello of TALK_THANKS */
	TALK_DOWN,	 /* `len` bytes down */
	TALK_THANKS,
};

enum talk_step {
	STEP_STOP, /* the list ends */
	STEP_SEND_HELLO,
	STEP_RECV_HELLO,
	STEP_SEND_BYTES,
	STEP_RECV_BYTES,
	STEP_SEND_REPLY, /* bytes of the next key */
	STEP_RECV_REPLY,
	STEP_SHUT,     /* no more from here */
	STEP_RECV_END, /* nothing but the end may come */
};

/* What the talk needs now. */
enum talk_need {
	TALK_READ,
	TALK_WRITE,
	TALK_DONE,  /* the steps are done */
	TALK_ENDED, /* the other side ended where a hello might have begun */
};

struct talk {
	uint64_t key;
	uint64_t len;
	uint64_t done; /* of the present step */
	enum talk_what what;
	unsigned at;
	uint8_t steps[TALK_STEPS_MAX]; /* enum talk_step */
	unsigned char hello[TALK_HELLO_BYTES];
};

/* Is this the first byte of a hello? */
bool talk_is_hello(unsigned char first);
/* The side that asks. */
void talk_begin_client(struct talk *t, enum talk_what what, uint64_t key, uint64_t len);
/* After an answered TALK_ASK: nothing more is wanted. */
void talk_begin_goodbye(struct talk *t);
/* The side that is asked: a hello is awaited ... */
void talk_begin_server(struct talk *t);
/* ... and answered. -EPROTO when it is none. */
int talk_answer(struct talk *t);

/* Goes on as far as `fd` lets it, but moves at most a piece, so that other talks have their turn; adds
 * to `*moved` the keyed bytes that went through. An enum talk_need, or -errno: -EBADMSG is a wrong byte,
 * -EPROTO an end too early or bytes after it. */
int talk_go(struct talk *t, int fd, uint64_t *moved);

#endif
