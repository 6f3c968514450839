/* SPDX-License-Identifier: MIT
 *
 * info.h - the output of `show info` of a running weir as numbers, and a client that requests it.
 *
 * The request goes over the admin socket on a libev loop and blocks nothing. Unknown lines are ignored;
 * missing ones stay 0. Main thread.
 */
#ifndef WEIR_DEMO_INFO_H
#define WEIR_DEMO_INFO_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/net/addr.h"
#include "plan.h"

#define INFO_BYTES_MAX 32768u
#define INFO_WORD_MAX  24

struct info_server {
	char state[INFO_WORD_MAX];
	uint64_t sessions;
	uint64_t total;
	uint64_t failures;
};

struct info {
	int64_t at_ns; /* when it was received, CLOCK_MONOTONIC */
	char driver[INFO_WORD_MAX];
	uint64_t pid;
	uint64_t workers;
	uint64_t sessions;
	uint64_t accepted;
	uint64_t retries;
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	uint64_t bytes_spliced;
	struct info_server servers[PLAN_SERVERS];
};

/* Parses the output of `show info`; false if it is something else. Does not set `at_ns`. */
bool info_parse(const char *text, struct info *out);

/* One request at a time. */
struct asker {
	struct ev_loop *loop;
	struct addr to;
	struct ev_io io; /* fd -1 = no request in progress */
	size_t len;
	void (*on_info)(void *arg, const struct info *info);
	void *arg;
	char bytes[INFO_BYTES_MAX];
};

/* `admin` is a name in the form that `weir ctl -s` takes. */
void asker_init(struct asker *a, struct ev_loop *loop, const char *admin);
/* Sends a request, unless one is in progress. The answer goes to `on_info`. Failures are ignored: the next
 * request may succeed. */
void asker_ask(struct asker *a);
void asker_stop(struct asker *a);

#endif
