/* SPDX-License-Identifier: MIT
 *
 * name_watch.c - one name that is looked up again and again.
 *
 * Owns what is known of the name, and its one query under way: a round of questions by DNS, or a job of the
 * lookup thread. Each query asks anew which of the two is right for the name. Control thread.
 */
#include "weir/names/name_watch.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "name_round.h"
#include "name_state.h"
#include "resolver_parts.h"

/* Without `resolve-interval`: the system's resolver reports no TTL. */
#define SYSTEM_INTERVAL_NS (30 * NS_PER_SEC)
/* A timer of libev may be early by as much. */
#define EARLY_NS NS_PER_MS

struct name_watch {
	struct resolver *resolver; /* borrows */
	struct name_wish wish;     /* its `host` is the next member */
	char host[256];
	struct name_state state;
	struct name_address *list; /* owns: for `answered` */
	size_t list_room;
	struct name_round round;
	struct lookup_job *job; /* owns, unless `job_asked` */
	bool job_asked;         /* it is submitted */
	struct ev_timer timer;  /* until the next query, or until the next hold ends */
	bool started;
	int64_t ended_ns; /* of the last query; 0 = none has ended */
	bool by_dns;      /* the last query */
	int64_t most_ns;  /* how long its answer is good for */
	uint32_t ttl_s;   /* of that answer; UINT32_MAX = unknown */
	unsigned server;  /* the name server that gave it; NAME_SERVERS_MAX = none */
	const char *why;
};

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_round_end(struct name_round *round);

/* ---- memory ---- */

struct name_watch *name_watch_blank(struct resolver *r, int *err)
{
	struct name_watch *w = calloc(1, sizeof(*w));

	*err = -ENOMEM;
	if (w == NULL)
		return NULL;
	w->job = calloc(1, sizeof(*w->job));
	if (w->job != NULL)
		*err = resolver_ready(r);
	if (*err) {
		free(w->job);
		free(w);
		return NULL;
	}
	list_init(&w->job->link);
	w->resolver = r;
	w->why = "";
	name_round_init(&w->round, on_round_end);
	ev_init(&w->timer, on_timer);
	w->timer.data = w;
	r->watches++;
	return w;
}

void name_watch_set(struct name_watch *w, const struct name_wish *wish)
{
	const size_t len = strlen(wish->host);

	check(!w->started);
	check(len < sizeof(w->host));
	w->wish = *wish;
	memcpy(w->host, wish->host, len + 1);
	w->wish.host = w->host;
}

struct name_watch *name_watch_new(struct resolver *r, const struct name_wish *wish, int *err)
{
	struct name_watch *w;

	*err = -EINVAL;
	if (strlen(wish->host) >= sizeof(w->host))
		return NULL;
	w = name_watch_blank(r, err);
	if (w != NULL && wish->kind == NAME_SRV && (r->dns == NULL || r->choice == CONFIG_RESOLVER_SYSTEM)) {
		name_watch_free(w);
		*err = -ENOSYS;
		return NULL;
	}
	if (w != NULL)
		name_watch_set(w, wish);
	return w;
}

void name_watch_free(struct name_watch *w)
{
	struct resolver *r;

	if (w == NULL)
		return;
	r = w->resolver;
	ev_timer_stop(r->loop, &w->timer);
	name_round_clear(&w->round);
	if (w->job_asked)
		lookup_withdraw(r->lookup, w->job);
	else
		free(w->job);
	name_state_free(&w->state);
	free(w->list);
	free(w);
	check(r->watches > 0);
	r->watches--;
	resolver_trim(r);
}

/* ---- which resolver ---- */

static bool ends_in(const char *host, const char *end)
{
	const size_t len = strlen(host), end_len = strlen(end);

	return len > end_len && host[len - end_len - 1] == '.' &&
	       strcasecmp(host + len - end_len, end) == 0;
}

/* Names that DNS is not for (RFC 6761, RFC 6762), and those of hosts(5), which nsswitch.conf(5) puts
 * first. */
static bool is_local(struct resolver *r, const char *host)
{
	return strcasecmp(host, "localhost") == 0 || ends_in(host, "localhost") || ends_in(host, "local") ||
	       hosts_file_has(&r->hosts, r->hosts_path, host);
}

static bool is_by_system(const struct name_watch *w)
{
	struct resolver *r = w->resolver;

	if (r->dns == NULL || r->choice == CONFIG_RESOLVER_SYSTEM)
		return true;
	return r->choice == CONFIG_RESOLVER_AUTO && w->wish.kind == NAME_HOST && is_local(r, w->host);
}

/* ---- time ---- */

static bool is_asking(const struct name_watch *w)
{
	return w->job_asked || w->round.begun;
}

static int64_t due_ns(const struct name_watch *w)
{
	int64_t wait_ns;

	if (is_asking(w) || !w->started)
		return CLOCK_NEVER;
	if (w->ended_ns == 0)
		return 0;
	wait_ns = name_state_wait(&w->state, &w->wish.terms, w->most_ns);
	if (w->by_dns && wait_ns < NAME_TTL_MIN_NS)
		wait_ns = NAME_TTL_MIN_NS;
	return w->ended_ns + wait_ns;
}

static void arm(struct name_watch *w)
{
	const int64_t query_ns = due_ns(w), hold_ns = name_state_hold_end(&w->state, &w->wish.terms);
	const int64_t at_ns = query_ns < hold_ns ? query_ns : hold_ns;
	const int64_t wait_ns = at_ns - clock_mono_ns();

	ev_timer_stop(w->resolver->loop, &w->timer);
	if (at_ns == CLOCK_NEVER)
		return;
	ev_timer_set(&w->timer, wait_ns > 0 ? (double)wait_ns / (double)NS_PER_SEC : 0., 0.);
	ev_timer_start(w->resolver->loop, &w->timer);
}

/* How long the last answer is good for, as the terms say now. */
static void set_most(struct name_watch *w)
{
	const int64_t interval_ns = w->wish.terms.interval_ns;

	if (w->ttl_s != UINT32_MAX)
		w->most_ns = name_state_ttl_wait(&w->wish.terms, w->ttl_s);
	else
		w->most_ns = interval_ns > 0 ? interval_ns : SYSTEM_INTERVAL_NS;
}

/* ---- answers ---- */

/* The watch may be gone afterwards. Without memory for the list, the next query tells. */
static void tell(struct name_watch *w)
{
	const struct name_state *s = &w->state;

	if (s->count > w->list_room) {
		struct name_address *more = realloc(w->list, s->count * sizeof(*more));

		if (more == NULL)
			return;
		w->list = more;
		w->list_room = s->count;
	}
	for (size_t i = 0; i < s->count; i++)
		w->list[i] = s->entries[i].found.address;
	w->wish.answered(w->wish.arg, s->outcome, w->list, s->count);
}

/* A query has ended; `why` if it found nothing. */
static void take(struct name_watch *w, const struct name_result *result, const char *why)
{
	const int64_t now_ns = clock_mono_ns();
	const int err = name_state_take(&w->state, result, now_ns);

	w->why = err ? "no memory" : why;
	w->ended_ns = now_ns;
	w->resolver->lookups++;
	w->resolver->failed += w->state.outcome != NAME_GOOD;
	set_most(w);
	if (w->state.changed && w->server < NAME_SERVERS_MAX)
		dns_count_update(w->resolver->dns, w->server);
	(void)name_state_expire(&w->state, &w->wish.terms, now_ns);
	arm(w);
	tell(w);
}

static void on_round_end(struct name_round *round)
{
	struct name_watch *w = container_of(round, struct name_watch, round);
	const struct name_result result = name_round_result(round);

	w->by_dns = true;
	w->ttl_s = round->ttl_s;
	w->server = round->server;
	take(w, &result, round->why != NULL ? round->why : "");
}

static enum name_outcome outcome_of(int error)
{
	switch (error) {
	case EAI_NONAME:
	case EAI_NODATA:
		return NAME_NX;
	case EAI_AGAIN:
		return NAME_TIMEOUT;
	default:
		return NAME_OTHER;
	}
}

static void take_job(struct name_watch *w)
{
	const struct lookup_job *job = w->job;
	const struct name_gap gap = {.outcome = outcome_of(job->error)};
	struct name_result result = {.gaps = &gap, .gap_count = job->error != 0};
	struct name_found found[LOOKUP_ADDRS_MAX];
	const char *why = job->error == EAI_SYSTEM ? strerrordesc_np(job->system_errno) : NULL;

	for (unsigned i = 0; job->error == 0 && i < job->count; i++)
		found[i] = (struct name_found){
			.address = {.addr = job->addrs[i], .weight = 1, .rank = (uint16_t)i}, .origin = 1};
	result.found = found;
	result.found_count = job->error == 0 ? job->count : 0;
	w->by_dns = false;
	w->ttl_s = UINT32_MAX;
	w->server = NAME_SERVERS_MAX;
	take(w, &result, why != NULL ? why : gai_strerror(job->error));
}

void name_watch_take_answers(struct resolver *r)
{
	struct lookup_job *job;

	while (r->lookup != NULL && (job = lookup_take(r->lookup)) != NULL) {
		struct name_watch *w = job->who;

		if (w == NULL) {
			free(job); /* nobody watches that name any more */
			continue;
		}
		check(w->job == job);
		check(w->job_asked);
		w->job_asked = false;
		take_job(w);
	}
}

/* ---- queries ---- */

static void ask_system(struct name_watch *w)
{
	struct lookup_job *job = w->job;

	check(!w->job_asked);
	job->who = w;
	job->port = w->wish.port;
	job->family = w->wish.family;
	memcpy(job->host, w->host, sizeof(job->host));
	w->job_asked = true;
	lookup_ask(w->resolver->lookup, job);
}

/* The watch may be gone afterwards. */
static void ask(struct name_watch *w)
{
	static const struct name_gap gap = {.outcome = NAME_OTHER};
	static const struct name_result no_memory = {.gaps = &gap, .gap_count = 1};

	check(!is_asking(w));
	w->resolver->used = true;
	if (is_by_system(w)) {
		ask_system(w);
	} else if (name_round_begin(&w->round, w->resolver->dns, &w->wish) != 0) {
		take(w, &no_memory, "no memory");
		return;
	}
	arm(w); /* a hold may end meanwhile */
}

static void on_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct name_watch *w = timer->data;
	const int64_t now_ns = clock_mono_ns() + EARLY_NS;
	const bool expired = name_state_expire(&w->state, &w->wish.terms, now_ns) > 0;

	(void)loop;
	(void)revents;
	if (!expired && due_ns(w) <= now_ns) {
		ask(w);
		return;
	}
	arm(w);
	if (expired)
		tell(w);
}

void name_watch_start(struct name_watch *w)
{
	check(!w->started);
	w->started = true;
	if (is_by_system(w)) {
		w->resolver->used = true;
		ask_system(w);
	} else {
		arm(w);
	}
}

void name_watch_set_terms(struct name_watch *w, const struct name_terms *terms)
{
	w->wish.terms = *terms;
	set_most(w);
	if (w->started)
		arm(w);
}

const char *name_watch_why(const struct name_watch *w)
{
	return w->why;
}

int64_t name_watch_bad_since_ns(const struct name_watch *w)
{
	return w->state.bad_since_ns;
}
