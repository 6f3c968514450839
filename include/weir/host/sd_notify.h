/* SPDX-License-Identifier: MIT
 *
 * sd_notify.h - messages to the service manager: the protocol of sd_notify(3), by hand.
 *
 * A datagram socket and the text that goes through it; what is said when, is sd_service.h's. Never
 * blocks: a manager that does not take a message misses it. Main thread.
 */
#ifndef WEIR_HOST_SD_NOTIFY_H
#define WEIR_HOST_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

struct sd_notify {
	int fd; /* owns; -1 = nobody listens */
	struct addr to;
	int64_t watchdog_ns; /* a sign of life is wanted within this; 0 = none */
};

/* "/run/systemd/notify" or "@abstract" to an address. 0 or -EINVAL. */
int sd_notify_address(const char *text, struct addr *to);
/* WATCHDOG_USEC and WATCHDOG_PID (NULL = not set) as the process `pid` shall read them: ns, 0 = none. */
int64_t sd_notify_watchdog(const char *usec, const char *watchdog_pid, pid_t pid);

/* Reads NOTIFY_SOCKET and the watchdog's values from the environment, which loses them, so that no
 * child speaks for us. 0 also when there is no manager; -errno when its socket is of no use. */
int sd_notify_open(struct sd_notify *n);
void sd_notify_close(struct sd_notify *n);
/* Sends lines of "NAME=VALUE". False when it is lost because the manager's queue is full now. */
bool sd_notify_send(const struct sd_notify *n, const char *text);

#endif
