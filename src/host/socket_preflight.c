/* SPDX-License-Identifier: MIT
 *
 * socket_preflight.c - do this kernel and our privileges permit the configured socket options?
 *
 * Owns the texts for a refused option. Makes sockets and closes them; never connects. Main thread.
 */
#include "weir/host/socket_preflight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/engine/server_sock.h"
#include "weir/entry/endpoint.h"
#include "kernel_file.h"

#define CONGESTION_LIST "/proc/sys/net/ipv4/tcp_available_congestion_control"

/* "reno bbr cubic", or "?". */
static const char *congestion_list(char *buf, size_t room)
{
	return kernel_file_line(CONGESTION_LIST, buf, room)[0] != '\0' ? buf : "?";
}

const char *option_error(enum sock_option option, int err, const char *value,
			 char buf[static OPTION_ERROR_MAX])
{
	const char *word = sock_option_word(option), *cap = sock_option_capability(option);
	const char *is = value != NULL ? " = " : "", *shown = value != NULL ? value : "";
	char list[128];

	/* If it is too long, its end is cut: the option and its value come first. */
	if (option == SOCK_OPTION_CONGESTION && err == -ENOENT)
		(void)snprintf(buf, OPTION_ERROR_MAX,
			       "'%s%s%.40s': this kernel has no such congestion control, only: %s; "
			       "'modprobe tcp_%.16s' may add it",
			       word, is, shown, congestion_list(list, sizeof(list)), shown);
	else if (option == SOCK_OPTION_CONGESTION && err == -EPERM)
		(void)snprintf(buf, OPTION_ERROR_MAX,
			       "'%s%s%.40s' is allowed with %s only; add it to sysctl "
			       "net.ipv4.tcp_allowed_congestion_control",
			       word, is, shown, cap);
	else if (option == SOCK_OPTION_INTERFACE && err == -ENODEV)
		(void)snprintf(buf, OPTION_ERROR_MAX,
			       "'%s=%.40s': there is no such network interface; 'ip link' lists them", word,
			       shown);
	else if ((err == -EPERM || err == -EACCES) && cap[0] != '\0')
		(void)snprintf(buf, OPTION_ERROR_MAX,
			       "'%s%s%.40s' needs %s; in the unit ('systemctl edit weir'): "
			       "AmbientCapabilities=%s and CapabilityBoundingSet=%s, and no 'user' in "
			       "[global], which gives it up",
			       word, is, shown, cap, cap, cap);
	else
		(void)snprintf(buf, OPTION_ERROR_MAX, "'%s%s%.40s': the kernel reports: %s", word, is, shown,
			       strerrordesc_np(-err));
	return buf;
}

const char *bind_option_error(enum sock_option option, int err, const struct config_frontend *fe,
			      const struct config_bind *b, char buf[static OPTION_ERROR_MAX])
{
	char number[32];
	const struct sock_tcp tcp = sock_tcp_of(&fe->tcp);
	const char *value = option == SOCK_OPTION_INTERFACE
				    ? b->interface
				    : sock_option_value(option, &tcp, number, sizeof(number));

	return option_error(option, err, value, buf);
}

/* False if an earlier server of the backend has the same kind of address and source, so the same result. */
static bool is_new(const struct config_backend *b, size_t at)
{
	const struct config_server *s = &b->servers[at];

	for (size_t i = 0; i < at; i++)
		if (b->servers[i].source.client == s->source.client &&
		    b->servers[i].addr.kind == s->addr.kind &&
		    b->servers[i].addr.addr.sa.sa_family == s->addr.addr.sa.sa_family)
			return false;
	return true;
}

int socket_preflight_backend(const struct config_backend *b, char *why, size_t room)
{
	for (size_t i = 0; i < b->server_count; i++) {
		const struct sock_tcp tcp = sock_tcp_of(&b->tcp);
		char number[32], text[OPTION_ERROR_MAX];
		enum sock_option refused;
		int err;

		if (!is_new(b, i))
			continue;
		err = server_sock_probe(b, &b->servers[i], &refused);
		/* Not about an option, so a limit, or an address family that this machine lacks: only this
		 * server is affected, and its own log line says so. */
		if (!err || refused == SOCK_OPTION_NONE)
			continue;
		(void)option_error(refused, err, sock_option_value(refused, &tcp, number, sizeof(number)),
				   text);
		(void)snprintf(why, room, "%s", text); /* may be truncated */
		return err;
	}
	return 0;
}

int socket_preflight_backends(const struct config *c, const struct config_backend **backend, char *why,
			      size_t room)
{
	for (size_t i = 0; i < c->backend_count; i++) {
		const int err = socket_preflight_backend(&c->backends[i], why, room);

		if (err) {
			*backend = &c->backends[i];
			return err;
		}
	}
	return 0;
}
