/* SPDX-License-Identifier: MIT
 *
 * dns_none.c - in place of dns.c in a build without c-ares: all names are for the system's resolver.
 */
#include <errno.h>
#include <stddef.h>

#include "weir/base/check.h"
#include "dns.h"

bool dns_is_built(void)
{
	return false;
}

const char *dns_version(void)
{
	return "";
}

struct dns *dns_new(struct ev_loop *loop, int *err)
{
	(void)loop;
	*err = -ENOSYS;
	return NULL;
}

void dns_free(struct dns *d)
{
	check(d == NULL);
}

void dns_configure(struct dns *d, const struct config_resolvers *servers)
{
	(void)servers;
	check(d != NULL);
}

void dns_set_path(struct dns *d, const char *resolv_conf)
{
	(void)resolv_conf;
	check(d != NULL);
}

void dns_ask(struct dns_question *q)
{
	check(q->dns != NULL);
}

void dns_withdraw(struct dns_question *q)
{
	check(q->dns != NULL);
}

void dns_count_update(struct dns *d, unsigned server)
{
	(void)server;
	check(d != NULL);
}

size_t dns_read_servers(const struct dns *d, struct name_server_view list[NAME_SERVERS_MAX])
{
	(void)list;
	check(d != NULL);
	return 0;
}

void dns_read_totals(const struct dns *d, struct name_server_counts *totals)
{
	(void)totals;
	check(d != NULL);
}
