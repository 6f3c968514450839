/* SPDX-License-Identifier: MIT
 *
 * info.h - what `show info` of a running weir says, as numbers, and how it is asked for.
 *
 * The question goes over the admin socket from a libev loop and blocks nobody. A line that is not
 * known is passed over, one that is missing stays 0. Main thread.
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
	int64_t at_ns; /* when it was heard, CLOCK_MONOTONIC */
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

/* Reads an answer of `show info`; false when it is none. `at_ns` is left as it is. */
bool info_parse(const char *text, struct info *out);

/* One question at a time. */
struct asker {
	struct ev_loop *loop;
	struct addr to;
	struct ev_io io; /* fd -1 = no question is under way */
	size_t len;
	void (*on_info)(void *arg, const struct info *info);
	void *arg;
	char bytes[INFO_BYTES_MAX];
};

/* `admin` is a name as `weir ctl -s` takes it. */
void asker_init(struct asker *a, struct ev_loop *loop, const char *admin);
/* Asks, unless a question is under way; an answer comes to `on_info`, a failure is silent: the next
 * question may have more luck. */
void asker_ask(struct asker *a);
void asker_stop(struct asker *a);

#endif
