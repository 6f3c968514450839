/* SPDX-License-Identifier: MIT
 *
 * dns_wire.h - channels of c-ares, one per name server, on the control loop.
 *
 * Knows nothing of names that are watched or of other name servers: one question, one try, one reply. All
 * sockets are in one epoll set, which the loop watches, so that libev needs one low descriptor number
 * (sys/low_fds.h) and no memory, however many there are. Control thread.
 */
#ifndef WEIR_NAMES_DNS_WIRE_H
#define WEIR_NAMES_DNS_WIRE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/net/addr.h"
#include "dns.h"
#include "resolv_conf.h"

/* A try ends after this time. HAProxy's `timeout retry`. */
#define DNS_TRY_MS 1000

struct ares_channeldata;

struct dns_wire {
	struct ev_loop *loop;  /* borrows */
	struct ev_io io;       /* `epoll`; active while it is open */
	struct ev_timer timer; /* active while replies are awaited */
	int epoll;             /* -1 = not open */
	struct list channels;  /* borrows */
	uint32_t last_id;
	bool kicked;
	/* After sockets or time brought replies, or as dns_wire_kick() wants: no function of c-ares runs, so
	 * that questions may be asked and channels closed. */
	void (*idle)(void *arg);
	void *arg;
};

struct dns_channel {
	struct list link;
	struct dns_wire *wire;         /* borrows */
	struct ares_channeldata *ares; /* owns */
	uint32_t id;
	unsigned awaited;    /* replies */
	uint64_t *truncated; /* borrows: counts connections over TCP */
};

enum dns_status {
	DNS_VALID,
	DNS_NO_DATA, /* the name exists, but has no such record */
	DNS_NX,
	DNS_REFUSED,
	DNS_FAILED,  /* SERVFAIL and the like */
	DNS_INVALID, /* what came cannot be understood */
	DNS_SILENT,
	DNS_UNSENT,
	DNS_NO_MEMORY,
};

struct dns_reply {
	enum dns_status status;
	const struct addr *addrs;
	size_t addr_count;
	const struct srv_answer *srv;
	uint32_t ttl_s;
	bool by_cname;
};

typedef void dns_replied(void *arg, const struct dns_reply *reply);

void dns_wire_init(struct dns_wire *w, struct ev_loop *loop);
/* Takes what the wire needs of the loop, so that asking does not fail for want of it. 0 or -errno. */
int dns_wire_open(struct dns_wire *w);
/* `idle` is due in the next turn of the loop. */
void dns_wire_kick(struct dns_wire *w);
/* All channels are closed. */
void dns_wire_close(struct dns_wire *w);

/* The wire is open. A channel to the name server `to`, with the search domains of `conf`; NULL = none, and
 * names are looked up as they are. 0 or -errno. */
int dns_channel_open(struct dns_channel *c, struct dns_wire *w, const struct addr *to,
		     const struct resolv_conf *conf);
/* No reply is awaited, or those that are come now, as DNS_SILENT. */
void dns_channel_close(struct dns_channel *c);
static inline bool dns_channel_is_open(const struct dns_channel *c)
{
	return c->ares != NULL;
}

/* From `idle` or a reply. `replied` is called once: later, or from within this call. */
void dns_channel_ask(struct dns_channel *c, enum dns_type type, const char *host, dns_replied *replied,
		     void *arg);

/* A query of any type. c-ares has two interfaces for this, and each is deprecated or missing where the other
 * one is the right one: dns_query_new.c, dns_query_old.c. `status` is that of c-ares; the message ends with
 * the call. */
typedef void dns_message(void *arg, int status, const uint8_t *bytes, size_t len);
void dns_query_srv(struct ares_channeldata *ares, const char *host, dns_message *done, void *arg);
/* Sets what only newer versions have, so that all behave alike. `options` is a struct ares_options. Returns
 * the bits to add to the mask. */
struct ares_options;
int dns_query_options(struct ares_options *options);

#endif
