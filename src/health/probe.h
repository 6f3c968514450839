/* SPDX-License-Identifier: MIT
 *
 * probe.h - one check of one server: connect, say, listen, judge, and part in peace.
 *
 * Has one socket at a time and one timer. The verdict is told as soon as it is known; after that the
 * connection is ended by FIN, and what the server still sends is read until it ends as well (at most
 * PROBE_BYE_NS and PROBE_BYTES_MAX): a close with unread bytes would be a reset, which fills its log or
 * counts against us. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_H
#define WEIR_HEALTH_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/base/clock.h"
#include "weir/config/config.h"
#include "weir/net/proxy.h"
#include "weir/net/sock.h"
#include "probe_http.h"
#include "probe_match.h"

/* So much of an answer is looked at. */
#define PROBE_BYTES_MAX 65536u
/* How long the end of the server's side is waited for. */
#define PROBE_BYE_NS NS_PER_SEC
/* When control itself comes so much too late to the end of a phase (it was suspended, or got no CPU), a bad
 * verdict says nothing of the server: the check is begun again, once. */
#define PROBE_LATE_NS (50 * NS_PER_MS)

struct probe_result {
	enum probe_code code;
	unsigned status; /* of an HTTP answer; 0 = none */
	int64_t duration_ms;
	bool met_itself; /* the connect did, as nobody listens: net/self_connect.h */
	char detail[PROBE_DETAIL_MAX]; /* printable; "" = the code says it all */
};

enum probe_phase {
	PROBE_IDLE,
	PROBE_CONNECTING,
	PROBE_PAUSING,  /* a Unix backlog is full: the connect is tried again */
	PROBE_RENEWING, /* control was late: it begins again with the next turn of the loop */
	PROBE_SAYING,
	PROBE_LISTENING,
	PROBE_PARTING, /* the verdict has been told */
};

struct probe {
	struct ev_loop *loop;                /* borrows */
	const struct config_check *check;    /* borrows */
	const struct config_server *server;  /* borrows */
	struct sock_tcp tcp;
	int64_t connect_ns; /* for the connect; 0 = all of the check's time */
	void (*done)(void *arg, const struct probe_result *result);
	void *arg;

	char *request; /* owns; CONFIG_CHECK_HTTP */
	struct probe_http http;
	struct probe_expect *expects; /* owns: one for each row of expects, in their order */
	size_t expect_count;

	enum probe_phase phase;
	int fd; /* owns; -1 = none */
	struct ev_io io;
	struct ev_timer timer; /* the end of the phase */
	struct addr to;
	size_t source_at; /* which of the sources is in use */
	int64_t began_ns;
	int64_t end_ns; /* when `timer` is due */
	bool again;     /* it was begun again */
	bool met_itself; /* of the result */
	size_t step;      /* the next of the steps */
	size_t expect_at; /* the next of the expects */
	const uint8_t *out; /* lent; what is to be said */
	size_t out_len;
	size_t received; /* since the last thing was said */
	size_t in_at;    /* of `in`: has been looked at */
	size_t in_len;
	uint8_t in[4096];
	uint8_t header[PROXY_V1_MAX + 1]; /* of the PROXY protocol: v2 LOCAL has 16 bytes */
};

/* Prepares checks by the settings of backend `b` for its server `s` (both borrowed until probe_free()).
 * `done` hears of each result, once, on the loop or within probe_start(); it must not free `p`. 0 or
 * -ENOMEM, with nothing to be freed. */
int probe_init(struct probe *p, struct ev_loop *loop, const struct config_backend *b,
	       const struct config_server *s);
void probe_free(struct probe *p);
/* Begins a check at `to` (copied), whose port is the one to be asked. A farewell that is under way is cut. */
void probe_start(struct probe *p, const struct addr *to);
/* Ends what is under way, untold. */
void probe_stop(struct probe *p);

#endif
