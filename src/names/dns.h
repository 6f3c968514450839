/* SPDX-License-Identifier: MIT
 *
 * dns.h - questions to name servers, by c-ares on the control loop.
 *
 * Each name server has a channel of its own, so that what happens is counted for the one that it happened
 * with. A question goes to the first name server that works, as in libc; the next one is asked when it does
 * not answer, refuses or fails. "This name does not exist" is an answer. Sockets exist only while questions
 * are under way. Control thread.
 */
#ifndef WEIR_NAMES_DNS_H
#define WEIR_NAMES_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/config/config.h"
#include "weir/names/name_watch.h"
#include "weir/names/resolver.h"
#include "weir/stats/name_servers.h"
#include "srv_answer.h"

struct dns;
struct dns_question;
struct ev_loop;

enum dns_type { DNS_A, DNS_AAAA, DNS_SRV };

struct dns_answer {
	enum name_outcome outcome;
	const char *why;          /* of a bad outcome; static */
	uint32_t ttl_s;
	const struct addr *addrs; /* of A and AAAA, without a port; in the order of the answer */
	size_t addr_count;        /* not 0 with a good outcome */
	const struct srv_answer *srv;
	unsigned server;          /* who answered: for dns_count_update() */
};

/* One question. The caller owns it and keeps it where it is until it is answered or withdrawn. */
struct dns_question {
	struct list link; /* among those that wait for their turn */
	struct dns *dns;
	char host[256];
	enum dns_type type;
	bool absolute; /* no search domain is tried behind `host` */
	void (*answered)(struct dns_question *q, const struct dns_answer *a);
	/* Of dns.c. */
	struct dns_request *request; /* under way; NULL = it waits */
	unsigned tries;
	unsigned first; /* the name server that was asked first */
	enum name_outcome outcome; /* the worst that was heard */
	const char *why;
};

/* Is c-ares built in? Its version; "" if not. */
bool dns_is_built(void);
const char *dns_version(void);

/* Takes what it needs of the loop; sockets and files follow with the first question. NULL on failure, with
 * `*err` = -errno. */
struct dns *dns_new(struct ev_loop *loop, int *err);
/* No question may be under way. NULL is fine. */
void dns_free(struct dns *d);
/* Other name servers, from the next question on. */
void dns_configure(struct dns *d, const struct config_resolvers *servers);
/* For tests: where resolv.conf is. Borrowed. */
void dns_set_path(struct dns *d, const char *resolv_conf);

/* Asks; `q` has dns, host, type and answered. The answer comes from the loop, never from within this call. */
void dns_ask(struct dns_question *q);
/* Nobody wants the answer any more. Also for one that was answered. */
void dns_withdraw(struct dns_question *q);

/* An answer of this name server has changed the addresses of a name. */
void dns_count_update(struct dns *d, unsigned server);
/* As name_servers.h says; the totals include name servers that are not asked any more. */
size_t dns_read_servers(const struct dns *d, struct name_server_view list[NAME_SERVERS_MAX]);
void dns_read_totals(const struct dns *d, struct name_server_counts *totals);

#endif
