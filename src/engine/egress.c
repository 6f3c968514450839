/* SPDX-License-Identifier: MIT
 *
 * egress.c - sessions whose client chooses its server by name: is the name allowed, which of its addresses
 * are, and which of these is next.
 *
 * Owns the questions except while they are control's, which resolves names and knows which addresses are of
 * this machine. An address is connected to only as it was judged here. A worker's thread.
 */
#include "egress.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/engine/engine.h"
#include "weir/io/slab.h"
#include "weir/net/host_set.h"
#include "client_watch.h"
#include "extra.h"
#include "server_port.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

/* For log_limit_ok(): above every errno, which failed connects to the same server have as their key. */
#define REFUSAL_KEY (1u << 18)

_Static_assert(offsetof(struct egress_question, link) == 0, "the slab's list while it is free");

static const struct slab_kind question_kind = {.bytes = (sizeof(struct egress_question) + 7) / 8 * 8};

void egress_init_worker(struct worker *w)
{
	slab_init(&w->questions, &question_kind);
	spinlock_init(&w->tray.lock);
	list_init(&w->tray.answered);
}

/* ---- refusals ---- */

static bool may_log(struct session *s, enum close_reason why)
{
	return log_limit_ok(server_line_limit(s), LOG_CAUSE_EGRESS, REFUSAL_KEY + (unsigned)why,
			    s->worker->loop.now_ns, 1);
}

static void refuse_name(struct session *s, const char *name, enum close_reason why)
{
	char client[ADDR_TEXT_MAX];

	if (may_log(s, why))
		log_line(LOG_LEVEL_WARNING, "server %s/%s: client %s was refused%s%s%s: %s",
			 s->back->config->name, s->at->config->name, addr_brief_format(&s->client, client),
			 name[0] != '\0' ? " '" : "", name, name[0] != '\0' ? "'" : "",
			 close_reason_row(why)->words);
	session_close(s, why);
}

static void log_address(struct session *s, const struct egress_question *q, const struct addr_brief *a,
			enum egress_verdict verdict)
{
	char client[ADDR_TEXT_MAX], text[ADDR_TEXT_MAX];
	struct addr_brief at = *a;

	at.port = q->port;
	if (may_log(s, CLOSE_EGRESS_ADDRESS))
		log_line(LOG_LEVEL_WARNING,
			 "server %s/%s: client %s asks for '%s', whose address %s was refused: it is %s; see "
			 "'allow-to' if it is meant",
			 s->back->config->name, s->at->config->name, addr_brief_format(&s->client, client),
			 q->name, addr_brief_format(&at, text), egress_why(a, verdict));
}

/* ---- asking ---- */

enum close_reason egress_name_reason(const struct config_backend *b, const uint8_t *name, size_t len,
				     char out[static EGRESS_NAME_MAX])
{
	out[0] = '\0';
	if (len == 0)
		return CLOSE_EGRESS_NO_NAME;
	if (!egress_name_read(name, len, out)) {
		out[0] = '\0'; /* it may be any bytes */
		return CLOSE_EGRESS_BAD_NAME;
	}
	if (b->allow_sni.any || (b->sni_hosts != NULL && host_set_has(b->sni_hosts, out, len)))
		return CLOSE_NORMAL;
	return CLOSE_EGRESS_NAME;
}

/* A name in a PROXY header does not count: whoever sent it did not choose the server. */
static enum close_reason read_name(const struct session *s, char name[static EGRESS_NAME_MAX])
{
	const struct session_name *n = s->extra != NULL && s->extra->name.from_hello ? &s->extra->name : NULL;

	return egress_name_reason(s->back->config, n != NULL ? session_name_text(n) : NULL,
				  n != NULL ? n->len : 0, name);
}

static int64_t deadline(const struct session *s)
{
	const int64_t timeout_ns = s->back->config->timeouts.connect_ns;

	return timeout_ns > 0 ? s->worker->loop.now_ns + timeout_ns : CLOCK_NEVER;
}

static void send_question(struct session *s, const char *name, uint16_t port)
{
	struct engine *e = s->worker->engine;
	struct egress_question *q = slab_get(&s->worker->questions);

	if (q == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	q->worker = s->worker;
	q->session = s;
	atomic_init(&q->left, false);
	memcpy(q->name, name, strlen(name) + 1);
	q->family = (uint16_t)s->at->config->addr.family;
	q->port = port;
	q->client = s->client;
	q->outcome = EGRESS_FAILED;
	q->count = 0;
	q->next = 0;
	s->extra->question = q;
	counter_add(&s->worker->counters.egress_questions, 1);
	spinlock_lock(&e->egress.lock);
	list_push_back(&e->egress.asked, &q->link);
	spinlock_unlock(&e->egress.lock);
	e->notify(e->notify_arg);
}

void egress_ask(struct session *s)
{
	char name[EGRESS_NAME_MAX];
	const enum close_reason why = read_name(s, name);
	uint16_t port;

	check(s->server_counted);
	check(s->at->takes_client_name);
	if (why != CLOSE_NORMAL) {
		refuse_name(s, name, why);
		return;
	}
	egress_drop(s); /* an answer whose addresses have all been tried */
	port = server_port_wanted(s);
	if (port == 0) {
		session_close(s, CLOSE_NO_SOCKET);
		return;
	}
	session_set_state(s, SESSION_RESOLVING);
	s->fixed_ns = deadline(s);
	client_watch(s);
	if (s->state == SESSION_RESOLVING)
		send_question(s, name, port);
	if (s->state == SESSION_RESOLVING)
		session_rearm(s);
}

/* ---- answers ---- */

/* Keeps the addresses that are fine, in their order. */
static void judge(struct session *s, struct egress_question *q)
{
	unsigned fine = 0;

	for (unsigned i = 0; i < q->count; i++) {
		const struct egress_address *a = &q->list[i];
		const enum egress_verdict verdict =
			egress_judge(&a->addr, s->back->config->allow_to, a->route);

		if (verdict == EGRESS_FINE) {
			q->list[fine++] = *a;
			continue;
		}
		counter_add(&s->worker->counters.egress_refused, 1);
		log_address(s, q, &a->addr, verdict);
	}
	q->count = fine;
}

/* Why the session ends without an address that is fine. */
static enum close_reason reason_of(enum egress_outcome outcome)
{
	switch (outcome) {
	case EGRESS_FOUND:
		return CLOSE_EGRESS_ADDRESS;
	case EGRESS_NOTHING:
		return CLOSE_EGRESS_NO_ADDRESS;
	case EGRESS_TOO_MANY:
		return CLOSE_EGRESS_QUESTIONS;
	case EGRESS_FAILED:
		break;
	}
	return CLOSE_EGRESS_RESOLVER;
}

static void take(struct session *s, struct egress_question *q, void (*go_on)(struct session *s))
{
	check(s->state == SESSION_RESOLVING);
	check(s->extra->question == q);
	if (client_watch_left(s)) {
		session_close(s, CLOSE_CLIENT_GONE);
		return;
	}
	judge(s, q);
	if (q->count > 0)
		go_on(s);
	else if (q->outcome == EGRESS_FOUND)
		session_close(s, reason_of(q->outcome)); /* which was logged */
	else
		refuse_name(s, q->name, reason_of(q->outcome));
}

static struct egress_question *take_oldest(struct spinlock *lock, struct list *from)
{
	struct egress_question *q = NULL;

	spinlock_lock(lock);
	if (!list_empty(from)) {
		q = list_entry(from->next, struct egress_question, link);
		list_remove(&q->link);
	}
	spinlock_unlock(lock);
	return q;
}

static struct egress_question *next_answer(struct worker *w)
{
	return take_oldest(&w->tray.lock, &w->tray.answered);
}

void egress_take(struct worker *w, void (*go_on)(struct session *s))
{
	struct egress_question *q;

	while ((q = next_answer(w)) != NULL) {
		struct session *s = q->session;

		check(q->worker == w);
		q->worker = NULL; /* it is the session's now */
		if (s != NULL)
			take(s, q, go_on);
		else
			slab_put(&w->questions, q);
	}
}

/* ---- trying ---- */

bool egress_has_next(const struct session *s)
{
	const struct egress_question *q = s->extra != NULL ? s->extra->question : NULL;

	return q != NULL && q->worker == NULL && q->next < q->count;
}

void egress_choose(struct session *s, struct addr *to)
{
	struct egress_question *q = s->extra->question;
	struct addr_brief *at = &s->extra->at;

	check(egress_has_next(s));
	*at = q->list[q->next++].addr;
	at->port = q->port;
	addr_of_brief(to, at);
}

/* IPv4 or IPv6 alone is a usual state of a machine, and nobody's fault. -EADDRNOTAVAIL: IPv6 is disabled; or
 * no port is left for this address, but perhaps for the next one. */
bool egress_skips(const struct session *s, int err)
{
	return (err == -ENETUNREACH || err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT) && egress_has_next(s) &&
	       s->extra->skipped < UINT8_MAX;
}

void egress_drop(struct session *s)
{
	struct egress_question *q = s->extra != NULL ? s->extra->question : NULL;

	if (q == NULL)
		return;
	s->extra->question = NULL;
	q->session = NULL;
	atomic_store_explicit(&q->left, true, memory_order_relaxed);
	if (q->worker == NULL)
		slab_put(&s->worker->questions, q);
}

/* ---- control ---- */

struct egress_question *engine_egress_take(struct engine *e)
{
	return take_oldest(&e->egress.lock, &e->egress.asked);
}

void engine_egress_answer(struct egress_question *q)
{
	struct worker *w = q->worker;

	check(q->count <= EGRESS_ADDRESSES_MAX);
	spinlock_lock(&w->tray.lock);
	list_push_back(&w->tray.answered, &q->link);
	spinlock_unlock(&w->tray.lock);
	mailbox_signal(&w->mailbox, MAIL_NAMES);
}

void egress_end_worker(struct worker *w)
{
	struct list *pos, *tmp;
	struct egress_question *q;

	list_foreach_safe(&w->engine->egress.asked, pos, tmp) {
		q = list_entry(pos, struct egress_question, link);
		if (q->worker != w)
			continue;
		list_remove(&q->link);
		slab_put(&w->questions, q);
	}
	while ((q = next_answer(w)) != NULL)
		slab_put(&w->questions, q);
	slab_free(&w->questions);
}
