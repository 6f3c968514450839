/* SPDX-License-Identifier: MIT
 *
 * session_record.h - what is logged about a session that ended, or about a client that never became one.
 *
 * A worker fills a record and has it copied; the reader of the log turns it into text, so that a line costs
 * the worker no formatting. A record borrows names and an address until it has been read: they may be freed
 * once the ring has been read past it (log_ring_is_read_to).
 */
#ifndef WEIR_ACCOUNT_SESSION_RECORD_H
#define WEIR_ACCOUNT_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"
#include "weir/net/client_hello.h"
#include "weir/net/proxy.h"

struct session_record {
	const struct config_frontend *frontend; /* borrows */
	const struct config_backend *backend;   /* borrows */
	const struct config_server *server;     /* borrows; NULL when none was tried */
	const struct addr *address;             /* borrows; the server's */
	struct addr_brief client;
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t bytes_spliced;
	uint32_t unacked_in;  /* bytes not acknowledged by the server when its socket was closed */
	uint32_t unacked_out; /* the same for the client */
	int64_t queue_ns;     /* -1 = never waited in a queue */
	int64_t connect_ns;   /* -1 = never connected */
	int64_t duration_ns;
	uint32_t worker;
	uint32_t number;
	uint32_t before; /* how many were in the queue when it came */
	uint32_t sample; /* how many sessions this one stands for; 0 = only itself */
	uint32_t bind;	 /* where the client came in: 1 = the first bind of the frontend, ... */
	/* Sessions open when it ended: 0 unless log_wants_counts(). The first two include it. */
	uint32_t process_sessions;
	uint32_t frontend_sessions;
	uint32_t backend_sessions;
	uint32_t server_sessions;
	uint16_t server_port; /* that of the connection to the server; 0 = that of `address` */
	uint16_t tries;
	bool redispatched;     /* a try went to another server than the one before */
	bool is_server_late;   /* the close reason is about either side, and it was the server */
	bool queued_at_server; /* `before` are those in the queue of one server, not of the backend */
	uint8_t reason;        /* enum close_reason */
	uint8_t state;         /* enum session_state in which it ended */
	uint8_t limited_by;    /* enum limited_by */
	uint8_t unique_id_len; /* 0 = none */
	bool has_sni;          /* the client said which server it wants, or its TLS hello that it wants any */
	uint8_t sni_len;       /* 0 = it named none */
	uint8_t proto;         /* enum config_proto, as far as `sniff` found out; 0 = not known, or silent */
	uint8_t found_len;     /* of a server sni@: the bytes of the address it was found at; 0 = none */
	/* The last member: only the bytes in use go into the log. The unique id, the name, that address. */
	uint8_t tail[PROXY_UNIQUE_ID_MAX + CLIENT_HELLO_NAME_MAX + 16];
};

/* Prints the server's address, with the port that was connected to, into `buf` (ADDR_TEXT_MAX bytes); "-" if
 * there is none. Returns `buf`. */
const char *session_record_address(const struct session_record *r, char *buf);

static inline uint8_t *session_record_sni(struct session_record *r)
{
	return r->tail + r->unique_id_len;
}

static inline uint8_t *session_record_found(struct session_record *r)
{
	return session_record_sni(r) + r->sni_len;
}

/* Logs the record at level info. A worker's thread. */
void session_record_log(const struct session_record *r);
/* Is this the entry of such a record? */
bool session_record_is(const struct log_entry *e);
/* Takes the record out of such an entry, for a line of another form. The log's reader. */
void session_record_take(const struct log_entry *e, struct session_record *r);

#endif
