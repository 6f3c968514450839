/* SPDX-License-Identifier: MIT
 *
 * session_facts.h - what a worker reports about a live session, and how `show sess` prints it.
 *
 * Filled by the worker; borrows nothing. Any thread.
 */
#ifndef WEIR_ACCOUNT_SESSION_FACTS_H
#define WEIR_ACCOUNT_SESSION_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/json.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"
#include "weir/net/client_hello.h"
#include "weir/net/proxy.h"
#include "weir/net/tcp_facts.h"

struct session_facts {
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	int64_t age_ns;
	struct addr_brief client;
	uint32_t frontend_slot;
	uint32_t backend_slot;
	uint32_t server_slot; /* if there is a server */
	uint32_t worker;
	uint32_t number;
	uint32_t entry;       /* where the client came in: the slot of the endpoint */
	bool entry_is_unix;
	int fds[2];           /* of the sockets: the client's, the server's; -1 = none */
	uint32_t held[2];     /* indexed by enum flow_dir, as is flow_state */
	uint8_t flow_state[2];
	uint8_t state;        /* enum session_state */
	uint16_t tries;
	uint8_t pipes;
	bool backend_counted; /* admitted: it goes to `backend` */
	bool detailed; /* the next three are set: someone asks about this session alone */
	int64_t idle_ns; /* since a byte moved; before that, since the try began */
	int64_t left_ns; /* until the deadline of a connect, a wait or a delivery; -1 = there is none */
	struct tcp_facts tcp[2]; /* of the client's socket, and of the server's */
	uint8_t unique_id_len; /* 0 = none */
	uint8_t unique_id[PROXY_UNIQUE_ID_MAX]; /* only unique_id_len bytes are set */
	uint8_t proto;   /* as in a record: session_record.h */
	bool has_sni;    /* as in a record: session_record.h */
	uint8_t sni_len;
	uint8_t sni[CLIENT_HELLO_NAME_MAX]; /* only sni_len bytes are set */
	/* Copies: whoever reads this may do so after they have left. */
	char frontend[CONFIG_NAME_MAX];
	char backend[CONFIG_NAME_MAX];
	char server[CONFIG_NAME_MAX]; /* "" before the first pick */
	struct addr address;          /* of the server; valid if there is one */
};

/* The number of a session among all of this process, never 0: what stands for HAProxy's pointer. */
static inline uint64_t session_key(unsigned worker, uint32_t number)
{
	return ((uint64_t)worker + 1) << 32 | number;
}

/* Its worker: UINT_MAX for a key that no session has. */
static inline unsigned session_worker(uint64_t key)
{
	return (unsigned)(key >> 32) - 1;
}

/* Writes the fields for `show sess`: one line with its newline, which begins with HAProxy's fields, or an
 * object that is the next item. Ours are as in a log line. A value that reads as a whole number is written as
 * a number. */
void session_facts_show(const struct session_facts *f, struct text *out);
void session_facts_show_json(const struct session_facts *f, struct json *out);
/* The same in HAProxy's large form, of several lines, for a session that is on its own or among `all`.
 * `now_us`: the time of day, in microseconds. */
void session_facts_show_large(const struct session_facts *f, int64_t now_us, struct text *out);
/* session_detail.c: all that is known of a session that is `detailed`, a line "name: value" for each fact, or
 * an object: what it waits for, ages, rates, and both connections as the kernel sees them. */
void session_facts_show_detail(const struct session_facts *f, struct text *out);
void session_facts_show_detail_json(const struct session_facts *f, struct json *out);
/* What the session waits for, as a phrase; written to `buf`. */
#define SESSION_WAIT_MAX 256
const char *session_facts_wait(const struct session_facts *f, char buf[static SESSION_WAIT_MAX]);
/* Lines of `show fd` for its sockets, or for the one whose descriptor is `only`; -1 = both. */
void session_facts_show_fds(const struct session_facts *f, int only, struct text *out);

#endif
