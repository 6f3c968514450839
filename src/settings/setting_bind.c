/* SPDX-License-Identifier: MIT
 *
 * setting_bind.c - `bind`: an address to accept connections on, with its words.
 *
 * Rejects names, and words that do not apply to this kind of address. Main thread.
 */
#include "setting.h"

#include <errno.h>

#include "weir/base/check.h"

/* Rejects options that the creator of an inherited socket has fixed and that can no longer be changed. */
static int validate_inherited_options(const struct setting *s)
{
	static const struct {
		const char *key, *instead;
	} rows[] = {
		{"mode", "SocketMode="},
		{"user", "SocketUser="},
		{"group", "SocketGroup="},
		{"v6only", "BindIPv6Only="},
		{"interface", "BindToDevice="},
		{"freebind", "FreeBind="},
		{"transparent", "Transparent="},
		{"mptcp", "SocketProtocol=mptcp"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct word *w =
			setting_find_word(s->diag->arena, &s->words, IN_BIND, rows[i].key);

		if (w == NULL)
			continue;
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'%s' is not for an inherited socket", rows[i].key);
		diag_hint(s->diag, "its creator decides: %s of the .socket unit", rows[i].instead);
		return -EINVAL;
	}
	return 0;
}

/* Rejects words that do not apply to a Unix socket. */
static int validate_tcp_only(const struct setting *s)
{
	static const char *const keys[] = {"defer-accept", "v6only", "interface", "freebind",
					   "transparent",  "tfo",    "mptcp"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct word *w = setting_find_word(s->diag->arena, &s->words, IN_BIND, keys[i]);

		if (w == NULL)
			continue;
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'%s' is for TCP, not for a Unix socket", keys[i]);
		diag_hint(s->diag, "leave it out");
		return -EINVAL;
	}
	return 0;
}

/* Validates options that apply to one kind of address only. */
static int validate_bind_options(const struct setting *s, const struct config_bind *bind)
{
	const struct word *w = &s->words.list[0];
	bool unix_path = bind->addr.kind == ADDR_UNIX && bind->addr.addr.un.sun_path[0] != '\0';
	bool owned = bind->owner.mode != -1 || bind->owner.uid != (uid_t)-1 || bind->owner.gid != (gid_t)-1;

	if (bind->addr.kind == ADDR_FD)
		return validate_inherited_options(s);
	if (owned && !unix_path) {
		diag_error(s->diag, DIAG_CONFLICT, w->at,
			   "mode, user and group are for a Unix socket with a path");
		return -EINVAL;
	}
	if (bind->addr.kind == ADDR_UNIX && validate_tcp_only(s) != 0)
		return -EINVAL;
	if (bind->addr.kind == ADDR_UNIX && bind->accept_proxy == CONFIG_ACCEPT_PROXY_OPTIONAL) {
		diag_error(s->diag, DIAG_CONFLICT, w->at,
			   "accept-proxy=optional relies on networks, and a Unix socket has none");
		diag_hint(s->diag, "write accept-proxy, and allow-uid to limit who may connect");
		return -EINVAL;
	}
	if (bind->v6only && bind->addr.kind == ADDR_IP && bind->addr.addr.sa.sa_family != AF_INET6) {
		diag_error(s->diag, DIAG_CONFLICT, w->at, "v6only is for an IPv6 address");
		return -EINVAL;
	}
	return 0;
}

int setting_parse_bind(const struct setting *s, struct config_bind *bind)
{
	const struct word *w = &s->words.list[0];
	struct setting words = *s;
	int err;

	bind->owner = (struct config_socket_owner){-1, (uid_t)-1, (gid_t)-1};
	setting_defaults(s->diag->arena, IN_BIND, bind);
	err = setting_address_ports(s, w, ADDR_PORTS_RANGE, &bind->addr);
	if (!err && bind->addr.kind == ADDR_NAME) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at,
			   "'bind' takes an address of this machine, not a name");
		diag_hint(s->diag, "write 127.0.0.1:%u, or :%u for all addresses", bind->addr.port,
			  bind->addr.port);
		err = -EINVAL;
	}
	words.base = bind;
	if (setting_parse_words(&words, 1, IN_BIND) != 0)
		err = -EINVAL;
	return err ? err : validate_bind_options(s, bind);
}
