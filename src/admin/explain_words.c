/* SPDX-License-Identifier: MIT
 *
 * explain_words.c - the words of `explain` that are addresses and ports, and what they mean for `sticky`.
 *
 * Main thread.
 */
#include "explain_words.h"

#include <arpa/inet.h>
#include <string.h>

#include "weir/balance/preview.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/entry/rules.h"
#include "admin_client_word.h"
#include "admin_steps.h"

bool explain_read_client(const struct admin_call *c, const char *value, struct addr_brief *out)
{
	const char *why = "";

	if (admin_read_client(value, out, &why) == 0)
		return true;
	admin_refuse(c, NULL, "'client' is not an address: %s; write client=192.0.2.7 or client=unix", why);
	return false;
}

bool explain_read_destination(const struct admin_call *c, const char *value, struct addr_brief *out)
{
	const char *why = "it has no IP address";

	if (admin_read_client(value, out, &why) == 0 && rules_has_ip(out))
		return true;
	admin_refuse(c, NULL, "'dst' is not an address: %s; write dst=192.0.2.1", why);
	return false;
}

bool explain_read_port(const struct admin_call *c, const char *value, uint16_t *port)
{
	unsigned number;

	if (!admin_read_number(value, UINT16_MAX, &number) || number == 0) {
		admin_refuse(c, NULL, "'port' must be a number from 1 to 65535");
		return false;
	}
	*port = (uint16_t)number;
	return true;
}

/* Does a client of `ep` connect to its address, and to no other? */
static bool has_one_address(const struct endpoint *ep)
{
	return !addr_is_unix(&ep->addr) && !addr_is_wildcard(&ep->addr) && !ep->config->transparent;
}

struct addr_brief explain_destination(const struct endpoint *ep, const struct addr_brief *given)
{
	struct addr_brief to = *given;

	if (to.family == 0 && ep != NULL && has_one_address(ep))
		addr_to_brief(&ep->addr.sa, ep->addr.len, &to);
	return to;
}

bool explain_has_address(const struct endpoint *ep, const struct addr_brief *given)
{
	struct addr_brief own;

	if (given->family == 0 || ep->config->accept_proxy != CONFIG_ACCEPT_PROXY_OFF || !has_one_address(ep))
		return true;
	addr_to_brief(&ep->addr.sa, ep->addr.len, &own);
	return own.family == given->family && memcmp(own.ip, given->ip, sizeof(own.ip)) == 0;
}

void explain_sticky(const struct admin_call *c, const struct preview *p, const struct addr_brief *to)
{
	const struct sticky_table *t = p->roster->sticky;
	char text[INET6_ADDRSTRLEN];

	if (t == NULL)
		return;
	if (sticky_table_keys(t) == STICKY_CLIENTS) {
		if (p->stuck != NULL)
			steps_add(c, "sticky", "the client keeps %s", p->stuck->config->name);
		return;
	}
	if (to->family == 0) {
		steps_add(c, "sticky", "the address that the client connects to decides: to see the server "
			  "that it keeps, write dst=ADDRESS");
		return;
	}
	check(inet_ntop(to->family, to->ip, text, sizeof(text)) != NULL);
	if (p->stuck != NULL)
		steps_add(c, "sticky", "clients that connect to %s keep %s", text, p->stuck->config->name);
}
