/* SPDX-License-Identifier: MIT
 *
 * info.h - the output of `show info` of a running weir as numbers.
 *
 * Unknown lines are ignored; missing ones stay 0. Main thread.
 */
#ifndef WEIR_DEMO_INFO_H
#define WEIR_DEMO_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "plan.h"

#define INFO_WORD_MAX 24

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
	uint64_t generation;
	uint64_t trial_left_s; /* 0 = the generation is not on trial */
	uint64_t reloads;
	uint64_t reloads_refused;
	uint64_t rollbacks; /* returns from a trial included */
	struct info_server servers[PLAN_SERVERS];
};

/* Parses the output of `show info`; false if it is something else. Does not set `at_ns`. */
bool info_parse(const char *text, struct info *out);

#endif
