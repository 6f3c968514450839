/* SPDX-License-Identifier: MIT
 *
 * ring_shim.h - a kernel made of a byte string, below the io_uring driver: its ring and its system calls.
 *
 * ring_shim.c stands in the place of src/sys/ring.c, ring_sys.c in that of src/sys/sys.c. Both take what they
 * decide from one string of bytes, in the order in which the driver asks. An honest kernel does only what
 * Linux can do, in any order and with any luck; the other one lies too: results beyond what was asked for,
 * flags that do not fit, buffers that it was not lent, completions told twice or made up. Neither gives out
 * a pointer that it was not given. Broken rules of the driver abort. One run at a time, one thread.
 */
#ifndef FUZZ_RING_SHIM_H
#define FUZZ_RING_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weir/io/io.h"

/* ---- the input ---- */

/* Begins a run: forgets all of the last one. Borrows the bytes until the next. */
void shim_begin(const uint8_t *data, size_t len, bool honest);
/* The next byte; 0 when there are no more. */
uint8_t shim_byte(void);
/* What an event of a socket may tell: EPOLLIN ..., by such a byte. */
uint32_t shim_mask(uint8_t b);
bool shim_is_out(void);
bool shim_is_honest(void);
/* True in `of_256` of 256 cases; never when the bytes are used up. */
bool shim_chance(unsigned of_256);
/* From 1 to `max`, often `max` itself. */
uint32_t shim_length(uint32_t max);
/* From now on nothing happens but what the driver asks for, and that at once and as it should. */
void shim_calm(void);
bool shim_is_calm(void);
/* The same, but all entries of the ring end as well as they can, and reads and writes get what there is;
 * until shim_calm(). Honest kernels only. */
void shim_give(void);
bool shim_gives(void);
/* One more call of the driver: too many for one run are an endless loop. */
void shim_count(void);

/* Prints each step when SHIM_TRACE is in the environment. */
extern bool shim_verbose;
#define shim_trace(...) (__builtin_expect(shim_verbose, 0) ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)

/* ---- what the engine tells of itself ---- */

/* Completions may be made up for this socket. */
void shim_know(const struct io_sock *sock);
/* The engine owns this memory, so that it must not be lent to the ring; until the second is called. */
void shim_keep(const void *data, uint32_t len);
void shim_give_back(const void *data);
/* A few bytes of both ends, as a number: whoever writes where he should not changes it. */
uint64_t shim_sum(const void *data, uint32_t len);

/* ---- descriptors, ring_sys.c ---- */

enum shim_kind { SHIM_FREE, SHIM_SOCKET, SHIM_LISTENER, SHIM_PIPE, SHIM_EVENT, SHIM_SET };

struct shim_file {
	enum shim_kind kind;
	int other;      /* of a pipe: its other end; of a client: its listener; -1 */
	uint32_t key;   /* of the stream that is read from it */
	uint64_t got;   /* bytes of it that reads and splices have taken */
	uint64_t put;   /* bytes that writes and splices have given to it; of a pipe: in it now */
	uint32_t clients; /* of a listener: accepted so far */
	/* Of a socket, as the epoll set sees it: */
	bool in;          /* bytes are there that nobody need tell of again */
	bool room;        /* and so is room */
	bool ended;       /* the peer has gone for good */
	bool refused;     /* it could not be added, once at least */
	uint32_t watched; /* the events that are asked for; 0: it is not in the set */
	uint32_t ready;   /* those that the next epoll_wait(2) tells of */
	uint32_t sticky;  /* those that stay */
	uint64_t data;
};

void shim_files_begin(void);
int shim_open(enum shim_kind kind);
/* One who waited at this listener. */
int shim_open_client(int listener);
/* No descriptor is as large. */
int shim_files_top(void);
/* The file of an open descriptor; aborts when it is none. */
struct shim_file *shim_file(int fd);
/* Its key, which no other use of the number has; 0 when it is not open. */
uint32_t shim_key(int fd);
void shim_close(int fd);
/* How many are open. */
unsigned shim_open_count(void);
/* Writes the next bytes of the descriptor's stream, those at both ends at least. */
void shim_fill(int fd, void *data, uint32_t len);
/* Are these the bytes of the stream `key` at `offset`? */
bool shim_is_stream(uint32_t key, uint64_t offset, const uint8_t *data, uint32_t len);
/* What the clock says; it stands still between calls. */
extern int64_t shim_now_ns;

/* ---- the epoll set, ring_set.c ---- */

void shim_set_begin(void);
/* Something happens to a socket, which is told if somebody watches it. */
void shim_set_raise(int fd, uint32_t mask);
/* The same to any that is watched; false: there is none. */
bool shim_set_luck(void);
/* Must the poll of the set still say that something is ready? Until the second is called. */
bool shim_set_is_untold(void);
void shim_set_told(void);

/* ---- the ring, ring_shim.c ---- */

/* Is anything pending for this descriptor, as far as no lie was told about it? */
bool shim_is_pending_fd(int fd);
/* Is as much lent to the ring as in its first turn, when nobody had anything? True when lies about buffers
 * have been told that the driver need not see through. */
bool shim_lent_again(void);
/* The error with which the next ring cannot be made; 0. */
extern int shim_open_error;
/* The next ring has room for so many entries, once it is on; 0: for as many as it was asked for. */
extern uint32_t shim_room;

#endif
