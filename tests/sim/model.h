/* SPDX-License-Identifier: MIT
 *
 * model.h - a small Linux: sockets, pipes, epoll and a clock behind include/weir/sys/sys.h.
 *
 * Owns one global kernel (one thread, one world at a time), reset for each seed. It carries no
 * bytes, only (key, offset, length): what a program sends is compared with the stream that it ought
 * to be at once. It refuses what a correct program never does (EBADF, splice of 0, a second close)
 * by failing the seed. facts.h states its facts, and holds both kernels to them.
 * Tests only.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "weir/net/addr.h"
#include "prng.h"

#define MODEL_FDS 256
#define MODEL_SOCKS 128
#define MODEL_PIPES 64
#define MODEL_FRAGS 256 /* at most so many pieces wait in one receive queue */
#define MODEL_SLOTS 64
#define MODEL_URGENTS 8
#define MODEL_BACKLOG 16
#define MODEL_LISTENERS 128
/* Handshakes in flight when a listener goes deaf have ended by then. */
#define MODEL_FLIGHT_NS 300000000
#define MODEL_SETS 4 /* epoll sets, and rings: one a worker */

/* The page size of the modelled machine: 4096, or $WEIR_MODEL_PAGE, for machines of 16 and 64 KiB. */
uint32_t model_page_bytes(void);
/* One fragment of a packet holds at most so much, and so does one slot of a pipe (SKB_FRAG_PAGE_ORDER). */
uint32_t model_frag_bytes(void);

enum file_kind { FILE_NONE, FILE_SOCK, FILE_LISTENER, FILE_PIPE_RD, FILE_PIPE_WR, FILE_EPOLL, FILE_EVENT,
		 FILE_ALARM };

enum sock_state { SOCK_NEW, SOCK_CONNECTING, SOCK_OPEN, SOCK_CLOSED };

/* One end of a connection. The stream that it sends has offsets from 0, its sequence numbers. */
struct msock {
	struct msock *peer; /* the other end; NULL before connect and when forgotten */
	int fd;             /* -1: held by a peer of the world, or an orphan */
	bool tcp;
	bool oobinline;
	bool linger0;
	bool watched; /* belongs to the program under test */
	bool unspliceable;
	enum sock_state state;
	bool rcv_shut; /* RCV_SHUTDOWN */
	bool snd_shut;
	bool done; /* SOCK_DONE: a FIN came, which recv looks at before the error */
	bool fin_sent; /* our FIN has reached the other side */
	bool nospace;  /* SOCK_NOSPACE */
	bool rx_lost;  /* closed: bytes that come now are answered with RST */
	bool deaf;     /* IP_MINTTL: drops what comes, and the other side sends it again later */
	bool rst_seen; /* a RST has arrived, or what Unix has for one; never forgotten */
	int err;       /* sk_err */
	/* receiving: bytes rx_read to rx_total of stream rx_key, cut into fragments */
	uint32_t rx_key;
	uint32_t rx_read;
	uint32_t rx_total;
	uint32_t rcvbuf;
	uint32_t frags[MODEL_FRAGS];
	uint32_t frag_head;
	uint32_t frag_count;
	bool urg_valid;
	uint32_t urg_seq;
	/* sending */
	uint32_t tx_key; /* 0: not yet known, or not checked */
	uint32_t tx_total;
	uint32_t tx_wired; /* has reached the other side's queue */
	uint32_t tx_acked;
	uint32_t sndbuf;
	bool corked; /* its last send said that more follows, and nothing has */
	uint32_t urgents[MODEL_URGENTS];
	uint32_t urgent_count;
	int side;  /* the world's */
	int index; /* the world's */
	uint32_t holds;   /* pending ops of a ring that hold its file */
	bool closes_late; /* closed, and so held */
	uint32_t vain;    /* reads of a ring, one after the other, whose poll was wrong */
	bool mismatch; /* bytes of another stream were sent; fails at once when the model is strict */
};

struct mlistener {
	bool tcp;
	bool oobinline;
	bool deaf; /* IP_MINTTL: drops SYNs, and what it accepts inherits it */
	bool failed; /* an accept failed */
	bool shares; /* SO_REUSEPORT */
	int64_t deaf_ns; /* since when */
	int fd; /* one of its descriptors */
	uint32_t fds; /* how many it has: dup(2) */
	uint16_t port; /* 0: it has none */
	struct msock *queue[MODEL_BACKLOG];
	uint32_t head;
	uint32_t count;
};

struct mslot {
	uint32_t key;
	uint32_t off;
	uint32_t len;
};

struct mpipe {
	bool used;
	bool rd_open;
	bool wr_open;
	uint32_t cap;
	uint32_t slot_max;
	uint32_t head;
	uint32_t count;
	uint32_t bytes;
	struct mslot slots[MODEL_SLOTS];
};

/* A file's place in an epoll set. */
struct mwatch {
	bool in;
	bool ready; /* stands in the ready list */
	uint32_t interest;
	uint64_t data;
};

struct mfile {
	enum file_kind kind;
	union {
		struct msock *sock;
		struct mlistener *listener;
		struct mpipe *pipe;
		uint64_t counter;
		int64_t alarm_ns; /* 0: not set */
		int set;          /* of an epoll set: its number */
	};
	uint32_t serial; /* no other file of this seed has it */
	uint32_t holds;  /* of a listener: pending ops of a ring, by this descriptor */
	struct mwatch watches[MODEL_SETS];
};

/* An epoll set. */
struct mset {
	int fd;      /* 0: there is none */
	bool sleeps; /* its last wait found nothing, and nothing has come since */
	int ready[MODEL_FDS];
	int ready_count;
};

/* Places where the kernel may fail or be unlucky; about a quarter is active in a seed. */
enum site {
#define SITE(name, percent) SITE_##name,
#include "sites.tbl.h"
#undef SITE
	SITE_COUNT
};

struct model {
	struct prng rng;
	int64_t now_ns;
	uint64_t calls;
	uint64_t calls_at_turn;
	bool faults;   /* sites may fire */
	bool strict;    /* bytes must belong to a known stream */
	bool auto_wire; /* facts: delivery and acknowledgement at once */
	bool active[SITE_COUNT];
	struct mfile files[MODEL_FDS];
	uint32_t serial; /* of the last file */
	int fd_top; /* no descriptor at or above it was ever used in this seed */
	struct msock socks[MODEL_SOCKS];
	int sock_top;
	struct mpipe pipes[MODEL_PIPES];
	struct mlistener listeners[MODEL_LISTENERS];
	int listener_top;
	struct mset sets[MODEL_SETS];
	int set_top; /* no set at or above it was ever used in this seed */
	bool idle;            /* the last wait found nothing */
	int64_t waited_ns;    /* and wanted to sleep so long; -1 for ever */
	int64_t sleep_max_ns; /* the world has nothing to do: a wait up to so long is slept through */
	uint32_t open_fds;
	uint32_t lent; /* buffers that a ring has */
	uint32_t rcvbuf;
	uint32_t sndbuf;
	uint32_t sources; /* how many addresses clients come from; 0 = one */
	/* The world decides what a connect does: 0 pending or done (see model_established), -errno now.
	 * The listener's side of the connection is already made. */
	int (*on_connect)(struct msock *s, const struct sockaddr *sa);
	/* Called before calls, so that the world goes on meanwhile. */
	void (*on_preempt)(void);
	/* The same wake-ups, for rings (model_ring.c): true when the one was woken that it is for. */
	bool (*on_wake)(int fd, uint32_t keys);
	/* Has ring number `at` anything to do? NULL: there is no ring. */
	bool (*ring_has_news)(int at);
	/* A fault fired that may end a session in an honest way; NULL: nobody knows which. */
	void (*on_excuse)(struct msock *s);
	/* A listener is closed with clients in its queue; may be NULL. */
	void (*on_lost)(const struct mlistener *l);
};

extern struct model model;

/* Forgets everything. */
void model_reset(uint64_t seed);
/* Ends the process with the seed, the reason and exit code 1. */
_Noreturn void sim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern bool sim_verbose;
extern uint64_t sim_seed;
void sim_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define trace(...) (__builtin_expect(sim_verbose, 0) ? sim_trace(__VA_ARGS__) : (void)0)

bool site(enum site s);
/* The same for a fault that a session may die of. */
bool site_fatal(enum site s, struct msock *victim);
/* Counts a call and lets the world go on. */
void model_enter(void);
/* A wait has found nothing: sleeps when the world allows it. */
void model_wait(int64_t timeout_ns);
/* Bytes that were sent as the last ones wait for the FIN: the loop must not sleep before it was sent. */
void model_judge_corks(void);
/* Rings the alarms, and says when the next one will, in ns from now; -1: none is set. */
int64_t model_look_at_alarms(void);

/* ---- files ---- */
int mfile_open(enum file_kind kind);
struct mfile *mfile_get(int fd);
struct msock *mfile_sock(int fd);
void mfile_close(int fd);
/* Something happened: `keys` are the events that the wake-up names, 0 for all. */
void mfile_wake(int fd, uint32_t keys);
/* The same for one epoll set; true when it was the one exclusive waiter that a wake-up is for. */
bool mset_wake(int set, int fd, uint32_t keys);
/* Takes a descriptor out of the ready list. */
void mset_forget(struct mset *set, int fd);
/* Would the next wait of the worker that opened the set, or the ring, as number `at` find anything? */
bool model_has_news(int at);
uint32_t mfile_mask(int fd);

/* ---- sockets, sock.c ---- */
struct msock *msock_new(bool tcp);
/* Forgets the socket that was made last. */
void msock_unmake(struct msock *s);
void msock_pair(struct msock *a, struct msock *b);
void msock_established(struct msock *s, int result);
uint32_t msock_mask(struct msock *s);
void msock_close(struct msock *s);
void msock_shutdown_wr(struct msock *s);
/* A RST (or what Unix has for one) from `from` arrives at its peer. */
void msock_send_reset(struct msock *from);
bool msock_has_mark(const struct msock *s);
void msock_fin_arrives(struct msock *s);
int msock_take_error(struct msock *s);
int msock_listen(bool tcp, bool oobinline);
/* One more descriptor of a listener. */
int msock_dup(int fd);
/* A connection from outside: returns the outside's end, NULL when the queue is full or the SYN is dropped. */
struct msock *msock_connect_to(int listener_fd);
int msock_accept(int fd);

/* ---- wire and bytes, wire.c ---- */
uint32_t msock_unread(const struct msock *s);
uint32_t msock_send_used(const struct msock *s);
bool msock_writable(const struct msock *s);
/* How many of `len` bytes the send queue takes now, or -errno; msock_sent() puts them in. */
ssize_t msock_send_room(struct msock *s, size_t len);
void msock_sent(struct msock *s, uint32_t len, bool urgent);
/* One step: at most one fragment of `max` bytes, or the FIN. False when there is nothing to do. */
bool wire_step(struct msock *from, uint32_t max);
bool wire_can_step(const struct msock *from);
bool wire_ack(struct msock *from, uint32_t max);
void wire_flush(struct msock *from);
/* Consumes `len` bytes that were read: frees window and wakes the sender. */
void msock_consume(struct msock *s, uint32_t len);
ssize_t msock_recv(struct msock *s, void *data, size_t len, int flags);
/* The stream that a socket of the program must carry. */
uint32_t msock_expect(struct msock *s);

/* send(2) and connect(2) of the program. */
ssize_t msock_send(struct msock *s, const void *data, size_t len, bool more);
int msock_connect(struct msock *s, const struct sockaddr *sa);

/* ---- pipes, splice.c ---- */
struct mpipe *mpipe_of(int fd, enum file_kind kind);
/* read(2) of a pipe. */
ssize_t mpipe_read(int fd, void *data, size_t len);

#endif
