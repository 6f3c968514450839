/* SPDX-License-Identifier: MIT
 *
 * source_steps.h - what the limits per source mean for a client, as steps of `explain`.
 *
 * Only reads. Main thread.
 */
#ifndef WEIR_ADMIN_SOURCE_STEPS_H
#define WEIR_ADMIN_SOURCE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

struct addr_brief;
struct admin_call;
struct frontend;

/* Adds steps for limit-exempt, rate-limit-per-source and maxconn-per-source of the frontend, as far as it has
 * them. False: the client is refused, for the reason in `why`, cut to `room` bytes. */
bool source_steps_explain(const struct admin_call *c, struct frontend *fe, const struct addr_brief *client,
			  char *why, size_t room);

#endif
