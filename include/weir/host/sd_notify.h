/* SPDX-License-Identifier: MIT
 *
 * sd_notify.h - messages to the service manager: our own implementation of the sd_notify(3) protocol.
 *
 * A datagram socket and the text sent through it; sd_service.h decides what to send and when. Never blocks:
 * if the manager does not take a message, it is lost. Main thread.
 */
#ifndef WEIR_HOST_SD_NOTIFY_H
#define WEIR_HOST_SD_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/net/addr.h"

struct sd_notify {
	int fd; /* owns; -1 = no manager */
	struct addr to;
	int64_t watchdog_ns; /* send a keep-alive within this time; 0 = no watchdog */
};

/* Converts "/run/systemd/notify" or "@abstract" to an address. 0 or -EINVAL. */
int sd_notify_address(const char *text, struct addr *to);
/* The watchdog interval in ns that WATCHDOG_USEC and WATCHDOG_PID (NULL = not set) mean for the process
 * `pid`; 0 = none. */
int64_t sd_notify_watchdog(const char *usec, const char *watchdog_pid, pid_t pid);

/* Reads NOTIFY_SOCKET and the watchdog variables and removes them from the environment, so that no child
 * speaks for us. 0 also if there is no manager; -errno if its socket is unusable. */
int sd_notify_open(struct sd_notify *n);
void sd_notify_close(struct sd_notify *n);
/* Sends lines of "NAME=VALUE". False if they are lost because the manager's queue is full. */
bool sd_notify_send(const struct sd_notify *n, const char *text);

#endif
