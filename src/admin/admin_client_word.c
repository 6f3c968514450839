/* SPDX-License-Identifier: MIT
 *
 * admin_client_word.c - the address of a client, as an administrator types it.
 *
 * Main thread.
 */
#include "admin_client_word.h"

#include <errno.h>
#include <string.h>

#include "weir/net/netset.h"

#define IPV4_BITS 32
#define IPV6_BITS 128

int admin_read_client(const char *word, struct addr_brief *client, const char **why)
{
	struct net_prefix one;
	struct addr_spec spec;

	*client = (struct addr_brief){0};
	if (strcmp(word, "unix") == 0 || strcmp(word, "unix:") == 0) {
		client->family = AF_UNIX;
		return 0;
	}
	if (net_prefix_parse(word, &one, why) == 0) {
		*why = "it is a network";
		if (one.bits != (one.family == AF_INET ? IPV4_BITS : IPV6_BITS))
			return -EINVAL;
		client->family = one.family;
		memcpy(client->ip, one.ip, sizeof(client->ip));
		return 0;
	}
	if (addr_parse(word, &spec, NULL, NULL) != 0 || spec.kind != ADDR_IP)
		return -EINVAL; /* for the reason why it is no single address */
	addr_to_brief(&spec.addr.sa, spec.addr.len, client);
	return 0;
}
