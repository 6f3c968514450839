/* SPDX-License-Identifier: MIT
 *
 * setting_server_line.c - `server`: an address to connect to, with its words.
 *
 * Rejects addresses that cannot be connected to. Main thread.
 */
#include "setting.h"

#include <errno.h>

/* Says where `source` comes from if it is on another line; otherwise `hint`, or nothing. */
static void hint_inherited(const struct setting *s, const char *hint)
{
	const struct word *w = setting_find_word(s->diag->arena, &s->words, IN_SERVER, "source");
	const struct at here = s->words.list[0].at;

	if (w != NULL && (w->at.source != here.source || w->at.line != here.line))
		diag_hint(s->diag, "it inherits 'source' from %s: write it on the servers that need it",
			  diag_where(s->diag, here, w->at));
	else if (hint != NULL)
		diag_hint(s->diag, "%s", hint);
}

/* A connect cannot work from a source address of another family. */
static int validate_families(const struct setting *s, const struct config_server *server)
{
	const struct config_sources *sources = &server->source;

	for (size_t i = 0; i < sources->count && server->addr.kind == ADDR_IP; i++) {
		if (sources->list[i].sa.sa_family == server->addr.addr.sa.sa_family)
			continue;
		diag_error(s->diag, DIAG_BAD_ADDRESS, s->words.list[0].at,
			   "server and source are of different families");
		hint_inherited(s, NULL);
		return -EINVAL;
	}
	if (server->addr.kind == ADDR_UNIX && (sources->count > 0 || sources->client)) {
		diag_error(s->diag, DIAG_CONFLICT, s->words.list[0].at,
			   "'source' is for TCP, not for a Unix socket");
		hint_inherited(s, "leave it out");
		return -EINVAL;
	}
	return 0;
}

int setting_parse_server_words(const struct setting *s, struct config_server *server)
{
	struct setting words = *s;

	words.base = server;
	return setting_parse_words(&words, 1,
				   server->set != CONFIG_SET_NONE ? IN_SERVER | IN_SET : IN_SERVER);
}

int setting_parse_server(const struct setting *s, struct config_server *server)
{
	const struct word *w = &s->words.list[0];
	int err;

	setting_defaults(s->diag->arena, IN_SERVER, server);
	err = setting_address_ports(s, w, ADDR_PORTS_CLIENT | ADDR_SNI_TOO, &server->addr);
	if (!err && server->addr.kind == ADDR_FD) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at,
			   "fd@ is for 'bind': a server cannot be an inherited socket");
		diag_hint(s->diag, "write HOST:PORT or unix:/PATH");
		err = -EINVAL;
	} else if (!err && server->addr.kind == ADDR_ANY) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "a server needs a host");
		if (server->addr.client_port)
			diag_hint(s->diag, "write 127.0.0.1:* or NAME:*");
		else
			diag_hint(s->diag, "write 127.0.0.1:%u or NAME:%u", server->addr.port,
				  server->addr.port);
		err = -EINVAL;
	} else if (!err && server->addr.kind != ADDR_UNIX && server->addr.port == 0 &&
		   !server->addr.client_port) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "a server needs a port, and 0 is not one");
		diag_hint(s->diag, "write :* for the port that the client connected to");
		err = -EINVAL;
	}
	if (setting_parse_server_words(s, server) != 0)
		err = -EINVAL;
	return err ? err : validate_families(s, server);
}
