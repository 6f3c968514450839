/* SPDX-License-Identifier: MIT
 *
 * probe.h - one health check of one server, or one question to its agent: connect, send, receive, judge,
 * close cleanly.
 *
 * Has at most one socket and one timer, and a copy of what it asks: a check in progress does not notice that
 * the configuration changes. The verdict is reported as soon as it is known. The connection is then closed
 * with a FIN, and whatever the server still sends is read until it closes too (at most PROBE_BYE_NS and
 * PROBE_BYTES_MAX). Closing with unread bytes would send a reset, which the server may log or count against
 * us. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_H
#define WEIR_HEALTH_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/balance/server.h"
#include "weir/base/clock.h"
#include "weir/config/config.h"
#include "weir/net/proxy.h"
#include "weir/net/sock.h"
#include "agent_words.h"
#include "exec_runner.h"
#include "probe_http.h"
#include "probe_match.h"
#include "probe_talk.h"
#include "probe_wire.h"

/* Maximum bytes of an answer to examine. */
#define PROBE_BYTES_MAX 65536u
/* How long to wait for the server to close its side. */
#define PROBE_BYE_NS NS_PER_SEC
/* If control itself is this late at the end of a phase (it was suspended or starved of CPU), a failed result
 * says nothing about the server, so the check is restarted, once. */
#define PROBE_LATE_NS (50 * NS_PER_MS)

struct entries;

struct probe_result {
	enum probe_code code;
	unsigned status; /* of an HTTP response, or of a program that has ended; 0 = none */
	int64_t duration_ms;
	bool met_itself; /* nothing listens, and the connect reached itself: net/self_connect.h */
	char detail[PROBE_REASON_MAX]; /* printable; "" = the code is sufficient */
};

enum probe_phase {
	PROBE_PHASE_IDLE,
	PROBE_PHASE_CONNECTING,
	PROBE_PHASE_PAUSING,  /* the Unix backlog is full: connect again later */
	PROBE_PHASE_RENEWING, /* control was late: restart in the next turn of the loop */
	PROBE_PHASE_WAITING,  /* for its turn to make a TLS handshake */
	PROBE_PHASE_SECURING, /* the handshake */
	PROBE_PHASE_SAYING,
	PROBE_PHASE_LISTENING,
	PROBE_PHASE_PARTING, /* the verdict has been reported */
	PROBE_PHASE_RUNNING, /* a program checks, or waits until it may: exec_runner.h */
};

struct probe {
	struct ev_loop *loop;         /* borrows */
	const struct server *server;  /* borrows */
	struct config_check *check;   /* owns: what was asked last; NULL = nothing */
	struct agent_line *line;      /* borrows; NULL = a health check; or what an agent answers */
	void (*done)(void *arg, const struct probe_result *result);
	void *arg;

	struct exec_client exec;         /* CONFIG_CHECK_EXEC */
	const struct entries *entries; /* borrows; where it looks for the addresses of sections */

	char *request; /* owns; CONFIG_CHECK_HTTP */
	char host[ADDR_TEXT_MAX]; /* in it, without a host of its own */
	struct probe_http http;
	struct probe_talk talk;       /* checks in a protocol of their own: probe_talk_is() */
	struct probe_wire wire;
	struct probe_expect *expects; /* owns: one for each run of expects, in order */
	size_t expect_count;

	enum probe_phase phase;
	int fd; /* owns; -1 = none */
	struct ev_io io;
	struct ev_timer timer; /* end of the phase */
	struct addr to;
	size_t source_at; /* index of the source address in use */
	int64_t began_ns;
	int64_t end_ns; /* when `timer` is due */
	bool again;     /* already restarted */
	bool met_itself; /* for the result */
	size_t step;      /* index of the next step */
	size_t expect_at; /* index of the next entry of `expects` */
	const uint8_t *out; /* lent; still to be sent */
	size_t out_len;
	size_t received; /* since the last send */
	size_t in_at;    /* bytes of `in` already examined */
	size_t in_len;
	uint8_t in[4096];
	uint8_t header[PROXY_V1_MAX + 1]; /* PROXY protocol header; v2 LOCAL needs 16 bytes */
};

/* Prepares checks of server `s` (borrowed until probe_free()). `done` is called once per result, from the
 * loop or within probe_start(). It must not free `p`. */
void probe_init(struct probe *p, struct ev_loop *loop, const struct server *s);
void probe_free(struct probe *p);
/* The version of the PROXY header that checks of `s` send. */
enum config_send_proxy probe_header(const struct server *s);
/* The same for its agent: a result of CHECKED means that `line` (borrowed likewise) has ended; it has what
 * was received. */
void probe_init_agent(struct probe *p, struct ev_loop *loop, const struct server *s,
		      struct agent_line *line);
/* Begins a check of `to` (copied), which includes the port to check, with the settings of now. Cuts short a
 * previous check that is still closing. */
void probe_start(struct probe *p, const struct addr *to);
/* Is a check in progress, so that a result will follow? */
static inline bool probe_is_busy(const struct probe *p)
{
	return p->phase != PROBE_PHASE_IDLE && p->phase != PROBE_PHASE_PARTING;
}
/* Ends a check in progress without a result. */
void probe_stop(struct probe *p);
/* The same, and forgets what was asked. */
void probe_forget(struct probe *p);

#endif
