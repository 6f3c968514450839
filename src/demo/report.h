/* SPDX-License-Identifier: MIT
 *
 * report.h - what a demo has measured, whether that is good, and how to print it.
 *
 * A value; collects nothing itself. Main thread.
 */
#ifndef WEIR_DEMO_REPORT_H
#define WEIR_DEMO_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "plan.h"

#define REPORT_STARTS_MAX 4
#define REPORT_WHY_MAX	  160

struct report_server {
	uint64_t starts[REPORT_STARTS_MAX]; /* connections per start of the server */
	size_t start_count;
	uint64_t errors;
};

struct report {
	double seconds;
	uint64_t connections; /* completed by clients */
	uint64_t requests;
	uint64_t bytes; /* through weir, in both directions */
	uint64_t bytes_spliced;
	uint64_t retries;
	uint64_t reloads; /* that took effect */
	uint64_t reloads_refused;
	uint64_t rollbacks; /* returns from a trial included */
	uint64_t client_errors;
	uint64_t sessions_left; /* in weir after every client had gone */
	int64_t slowest_ns;
	int daemon_exit;  /* its exit code, or 128 + N after signal N */
	bool interrupted; /* the user stopped the demo */
	bool broken;	  /* something went wrong that no counter shows; see `why` */
	struct report_server servers[PLAN_SERVERS];
	char why[REPORT_WHY_MAX]; /* the first thing that went wrong; "" = nothing */
};

/* Stores only the first reason. */
void report_why(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Is everything good: no client and no server saw an error, and the daemon ended in order with nothing
 * left? */
bool report_ok(const struct report *r);
uint64_t report_server_connections(const struct report_server *s);
/* One JSON object on one line. */
void report_json(const struct report *r, FILE *out);
/* A few lines of text; `good`, `bad` and `plain` are the codes to print around what matters most. */
void report_text(const struct report *r, const char *good, const char *bad, const char *plain, FILE *out);

#endif
