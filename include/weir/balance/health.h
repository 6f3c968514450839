/* SPDX-License-Identifier: MIT
 *
 * health.h - HAProxy's counter of good and bad health checks: when a server is up, and when its next check is
 * due.
 *
 * One number from 0 to rise + fall - 1; the server is up while it is at least `rise` (check.c and server.c
 * of HAProxy). A pure state machine: no clock, no socket. Control thread.
 */
#ifndef WEIR_BALANCE_HEALTH_H
#define WEIR_BALANCE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct config_check;

struct health {
	unsigned rise;
	unsigned fall;
	unsigned health; /* 0 .. rise + fall - 1 */
};

enum health_change { HEALTH_SAME, HEALTH_WENT_UP, HEALTH_WENT_DOWN };

/* A server starts up, and one failure takes it down. */
void health_init(struct health *h, unsigned rise, unsigned fall);
enum health_change health_good(struct health *h);
enum health_change health_bad(struct health *h);
bool health_is_up(const struct health *h);
/* Up stays up with as many failures as before, and down stays down with as many good checks. */
void health_rescale(struct health *h, unsigned rise, unsigned fall);
/* Time until the next check begins: interval when fully up, check-down when fully down, otherwise
 * check-fast. */
int64_t health_interval_ns(const struct health *h, const struct config_check *c);

#endif
