/* SPDX-License-Identifier: MIT
 *
 * destination.c - the address that a client connected to.
 *
 * A worker's thread.
 */
#include "destination.h"

#include "weir/engine/engine.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/rules.h"
#include "weir/sys/sys.h"
#include "extra.h"
#include "session.h"

/* Does its listener accept connections to many addresses? */
static bool is_any_address(const struct session *s)
{
	return addr_is_wildcard(&s->entry->endpoint->addr) || s->entry->config->transparent;
}

bool destination_of(const struct session *s, struct addr_brief *out)
{
	const struct addr *own = &s->entry->endpoint->addr;
	struct addr local = {.len = sizeof(local.un)};

	*out = (struct addr_brief){0};
	if (s->extra != NULL && s->extra->dst.family != 0) {
		*out = s->extra->dst;
		return rules_has_ip(out);
	}
	if (!addr_is_unix(own) && is_any_address(s)) {
		if (sys_getsockname(s->sides[SIDE_CLIENT].sock.fd, &local.sa, &local.len) != 0)
			return false;
		own = &local;
	}
	addr_to_brief(&own->sa, own->len, out);
	return rules_has_ip(out);
}
