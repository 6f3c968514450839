/* SPDX-License-Identifier: MIT
 *
 * auth.h - who may use the HTTP endpoint: users and their passwords, verified on a helper thread.
 *
 * One password is verified at a time, which takes up to half a second of a thread of low priority, and
 * AUTH_QUEUE wait; beyond that clients are told to come back. A right password is remembered for
 * AUTH_REMEMBERED_NS under a keyed hash, so that a scraper costs one verification a minute. An unknown user
 * costs as much as a known one. Passwords are never logged, and are overwritten once they are verified. Main
 * thread.
 */
#ifndef WEIR_WEB_AUTH_H
#define WEIR_WEB_AUTH_H

#include <ev.h>
#include <stdint.h>

#include "auth_header.h"
#include "auth_sources.h"
#include "weir/base/clock.h"
#include "weir/base/list.h"
#include "weir/config/config.h"
#include "weir/web/web.h"

#define AUTH_QUEUE	   16
#define AUTH_REMEMBERED	   64 /* different ones; then the oldest is verified again */
#define AUTH_REMEMBERED_NS (60 * NS_PER_SEC)

enum auth_verdict {
	AUTH_NONE, /* not known yet */
	AUTH_PASS,
	AUTH_ASK,      /* there is no password: 401 */
	AUTH_WRONG,    /* 401 */
	AUTH_TOO_MANY, /* wrong passwords from this source: 429 */
	AUTH_BUSY,     /* too many passwords to verify: 503 */
	AUTH_FAILED,   /* memory or threads are short, or libcrypt failed: 503 */
};

struct verification;

/* One request whose password is being verified; `link` is unlinked otherwise. */
struct auth_waiter {
	struct list link;
	struct verification *verification; /* borrows, while linked */
	/* Must not call any function below. */
	void (*done)(struct auth_waiter *w, enum auth_verdict verdict);
};

/* Who sends a request. */
struct auth_client {
	struct addr_brief address;
	uint32_t uid; /* over a Unix socket */
};

struct auth;

/* Counts in `totals`, which it borrows. NULL when out of memory. */
struct auth *auth_new(struct ev_loop *loop, struct web_totals *totals);
/* Nobody may wait. Abandons a verification under way. NULL is harmless. */
void auth_free(struct auth *a);
/* Judges the value of an Authorization header (NULL = there is none). AUTH_NONE: w->done is called later,
 * unless auth_forget() is called first. `users` is borrowed for the call. */
enum auth_verdict auth_judge(struct auth *a, const struct config_auth *users,
			     const struct auth_client *client, const char *header, struct auth_waiter *w);
/* `w` does not wait any more. Harmless if it does not. */
void auth_forget(struct auth *a, struct auth_waiter *w);
/* After AUTH_TOO_MANY: in how many seconds this client may come back. */
unsigned auth_retry_s(const struct auth *a, const struct auth_client *client);

#endif
