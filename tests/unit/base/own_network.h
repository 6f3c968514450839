/* SPDX-License-Identifier: MIT
 *
 * own_network.h - a network namespace for one test program, where nobody else takes a port.
 *
 * A test that needs one port at several addresses can choose one only at one of them; in the network that all
 * programs share, another may have it at the next address. Only root gets a namespace; others share.
 */
#ifndef WEIR_TESTS_OWN_NETWORK_H
#define WEIR_TESTS_OWN_NETWORK_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/base/check.h"

/* Once per process, before it has threads or sockets. */
static inline void own_network(void)
{
	static bool tried;
	struct ifreq loopback = {.ifr_flags = IFF_UP | IFF_RUNNING};
	int fd;

	if (tried)
		return;
	tried = true;
	if (unshare(CLONE_NEWNET) != 0)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(fd >= 0);
	(void)snprintf(loopback.ifr_name, sizeof(loopback.ifr_name), "lo");
	check(ioctl(fd, SIOCSIFFLAGS, &loopback) == 0);
	check(close(fd) == 0);
}

#endif
