/* SPDX-License-Identifier: MIT
 *
 * asker.h - sends one command to the admin socket of the demo's daemon, and collects the answer.
 *
 * On a libev loop; blocks nothing. Main thread of the parent.
 */
#ifndef WEIR_DEMO_ASKER_H
#define WEIR_DEMO_ASKER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "weir/net/addr.h"

#define ASKER_BYTES_MAX 32768u

/* One request at a time. */
struct asker {
	struct ev_loop *loop;
	struct addr to;
	const char *question; /* borrows */
	struct ev_io io;      /* fd -1 = no request in progress */
	size_t len;
	void (*on_answer)(void *arg, const char *text); /* `text` is valid during the call */
	void *arg;
	char bytes[ASKER_BYTES_MAX];
};

/* `admin` is a name in the form that `weir ctl -s` takes; `question` is a command with its newline. */
void asker_init(struct asker *a, struct ev_loop *loop, const char *admin, const char *question);
/* Sends a request, unless one is in progress. A complete answer goes to `on_answer`. Failures are not
 * reported: a later request may succeed. True if this call has sent one. */
bool asker_ask(struct asker *a);
bool asker_is_busy(const struct asker *a);
void asker_stop(struct asker *a);

#endif
