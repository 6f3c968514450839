/* SPDX-License-Identifier: MIT
 *
 * guard.c - lets requests pass to the HTTP endpoint, or refuses them.
 *
 * Owns what judges passwords, once one was needed. Main thread.
 */
#include "guard.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/base/check.h"

#define CHALLENGE "Basic realm=\"weir\", charset=\"UTF-8\""

void guard_free(struct guard *g)
{
	auth_free(g->auth);
	g->auth = NULL;
}

static struct auth_client client_of(const struct guest *guest)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(guest->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct auth_client client = {.address = {.family = AF_UNIX}, .uid = UINT32_MAX};
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (info != NULL && info->client_addr != NULL && info->client_addr->sa_family == AF_INET)
		addr_to_brief(info->client_addr, sizeof(struct sockaddr_in), &client.address);
	else if (info != NULL && info->client_addr != NULL && info->client_addr->sa_family == AF_INET6)
		addr_to_brief(info->client_addr, sizeof(struct sockaddr_in6), &client.address);
	else if (getsockopt(guest->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
		client.uid = peer.uid;
	return client;
}

/* Orchestrators and load balancers ask for these without a password. */
static bool is_public(const struct route_row *route)
{
	return route != NULL && (route->name == ROUTE_HEALTHZ || route->name == ROUTE_READYZ);
}

void guard_judge(struct guard *g, struct guest *guest, const struct route_row *route)
{
	const struct config_stats *config = g->socket->config;
	struct auth_client client;
	const char *header;

	guest->verdict = AUTH_PASS;
	if (is_public(route) || config == NULL || config->auth.file == NULL)
		return;
	if (g->auth == NULL)
		g->auth = auth_new(g->loop, g->totals);
	guest->verdict = AUTH_FAILED;
	if (g->auth == NULL)
		return;
	client = client_of(guest);
	header = MHD_lookup_connection_value(guest->connection, MHD_HEADER_KIND, "Authorization");
	guest->verdict = auth_judge(g->auth, &config->auth, &client, header, &guest->waiter);
}

void guard_forget(struct guard *g, struct guest *guest)
{
	if (g->auth != NULL)
		auth_forget(g->auth, &guest->waiter);
}

static unsigned retry_s(const struct guard *g, const struct guest *guest)
{
	const struct auth_client client = client_of(guest);

	return guest->verdict == AUTH_TOO_MANY ? auth_retry_s(g->auth, &client) : 1;
}

struct MHD_Response *guard_refuse(const struct guard *g, const struct guest *guest, unsigned *status)
{
	static const struct refusal {
		unsigned status;
		const char *text;
	} refusals[] = {
	    [AUTH_ASK] = {401, "a user and a password are needed\n"},
	    [AUTH_WRONG] = {401, "wrong user or password\n"},
	    [AUTH_TOO_MANY] = {429, "too many wrong passwords: wait a minute\n"},
	    [AUTH_BUSY] = {503, "too many passwords to verify: try again in a second\n"},
	    [AUTH_FAILED] = {503, "the password cannot be verified: see the log\n"},
	};
	const struct refusal *r = &refusals[guest->verdict];
	struct MHD_Response *response;
	char seconds[16];

	check(r->text != NULL);
	*status = r->status;
	response = MHD_create_response_from_buffer(strlen(r->text), (void *)(uintptr_t)r->text,
						   MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return NULL;
	(void)snprintf(seconds, sizeof(seconds), "%u", retry_s(g, guest)); /* it fits */
	/* Each fails only for lack of memory, and then the header is missing. */
	if (r->status == MHD_HTTP_UNAUTHORIZED)
		(void)MHD_add_response_header(response, "WWW-Authenticate", CHALLENGE);
	else
		(void)MHD_add_response_header(response, "Retry-After", seconds);
	/* A client that guesses makes room for others. */
	if (guest->verdict != AUTH_ASK)
		(void)MHD_add_response_header(response, "Connection", "close");
	return response;
}
