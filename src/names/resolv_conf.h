/* SPDX-License-Identifier: MIT
 *
 * resolv_conf.h - what resolv.conf(5) says: name servers, search domains, ndots.
 *
 * A plain value. Lines and options that mean nothing here are skipped, as libc does. Any thread.
 */
#ifndef WEIR_NAMES_RESOLV_CONF_H
#define WEIR_NAMES_RESOLV_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/stats/name_servers.h"
#include "weir/net/addr.h"

#define RESOLV_CONF_PATH	"/etc/resolv.conf"
#define RESOLV_CONF_DOMAINS_MAX 16

struct resolv_conf {
	struct addr servers[NAME_SERVERS_MAX]; /* in their order, with port 53 */
	size_t server_count;
	char domains[RESOLV_CONF_DOMAINS_MAX][256];
	size_t domain_count;
	unsigned ndots;
};

/* Reads `text`. Without a name server, it is 127.0.0.1, as in libc. */
void resolv_conf_parse(struct resolv_conf *c, const char *text);
/* Reads the file; one that cannot be read is as an empty one. */
void resolv_conf_read(struct resolv_conf *c, const char *path);

/* Is the file another one, or changed, since this was last called with `seen`? True the first time. */
struct file_seen {
	bool known;
	long long version[4];
};
bool file_seen_changed(struct file_seen *seen, const char *path);

#endif
