/* SPDX-License-Identifier: MIT
 *
 * server_sock.c - the socket of a connection to a server, with the options of its backend.
 *
 * Chooses the source address; our own shortage (no port left at any source) is reported as -EADDRNOTAVAIL.
 * Nothing that fails here counts against the server. TCP_FASTOPEN_CONNECT is not used: once bytes went out
 * with the SYN, a failed try could not be repeated. A worker's thread.
 */
#include "weir/engine/server_sock.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/entry/endpoint.h"
#include "weir/net/self_connect.h"
#include "weir/sys/sys.h"
#include "server_port.h"
#include "session.h"
#include "worker.h"

static const struct addr no_source;

static const struct config_backend *backend_of(const struct session *s)
{
	return s->back->config;
}

static const struct config_server *server_of(const struct session *s)
{
	return s->at->config;
}

static const struct config_sources *sources_of(const struct session *s)
{
	return &server_of(s)->source;
}

bool server_sock_is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOBUFS || err == -ENOMEM ||
	       err == -EADDRNOTAVAIL || err == -ENOSPC;
}

static struct sock_tcp options_of(const struct session *s)
{
	struct sock_tcp opt = sock_tcp_of(&backend_of(s)->tcp);

	opt.transparent = sources_of(s)->client;
	opt.lazy_ack = true;
	return opt;
}

/* One line per second, worker, server and kind of trouble; the rest are counted. The values start above every
 * errno, because failed connects to the same server use errno as their key. */
enum trouble {
	TROUBLE_SPILL = 1 << 16, /* the next source is used */
	TROUBLE_NO_SOURCE,
	TROUBLE_MISSING, /* an address that this machine does not have; the next one is used */
	TROUBLE_FAMILY,
	TROUBLE_SOCKET,
	TROUBLE_ITSELF, /* the socket is its own peer */
};

static bool may_log_source(struct session *s, enum trouble kind)
{
	return log_limit_ok(server_line_limit(s), LOG_CAUSE_SOURCE, kind, s->worker->loop.now_ns, 1);
}

/* ---- a pool of sources ---- */

/* Where a session starts in the list. A multiplication spreads the starts, because the session number alone
 * would follow the rotation of the servers. */
static size_t first_source(const struct session *s)
{
	check(sources_of(s)->count > 0);
	return (size_t)((s->number * UINT32_C(2654435761)) >> 16) % sources_of(s)->count;
}

/* The next source of `family` for this try, NULL when all have been tried. */
static const struct addr *next_source(struct session *s, int family)
{
	const struct config_sources *sources = sources_of(s);

	check(s->sources_tried <= sources->count);
	check(sources->count < UINT8_MAX);
	while (s->sources_tried < sources->count) {
		const size_t at = (first_source(s) + s->sources_tried++) % sources->count;

		if (sources->list[at].sa.sa_family == family)
			return &sources->list[at];
	}
	return NULL;
}

/* The source that next_source() returned last. */
static const struct addr *last_source(const struct session *s)
{
	const struct config_sources *sources = sources_of(s);

	if (s->sources_tried == 0)
		return &no_source;
	check(s->sources_tried <= sources->count);
	return &sources->list[(first_source(s) + s->sources_tried - 1u) % sources->count];
}

/* Is a source of `family` left to try? */
static bool has_next(struct session *s, int family)
{
	const uint8_t tried = s->sources_tried;
	const bool found = next_source(s, family) != NULL;

	s->sources_tried = tried;
	return found;
}

/* Omits the port if the kernel chooses it. */
static const char *source_text(const struct addr *source, char *buf)
{
	const bool any = source->sa.sa_family == AF_INET6 ? source->in6.sin6_port == 0
							  : source->in.sin_port == 0;

	check(source->sa.sa_family == AF_INET || source->sa.sa_family == AF_INET6);
	(void)addr_format(source, buf);
	if (any)
		*strrchr(buf, ':') = '\0';
	return buf;
}

static void log_source(struct session *s, const struct addr *source, const struct addr *to, bool missing)
{
	const char *backend = backend_of(s)->name, *server = server_of(s)->name;
	char text[ADDR_TEXT_MAX], to_text[ADDR_TEXT_MAX];
	const bool more = has_next(s, to->sa.sa_family);
	/* A line that no source is left must not be hidden by lines about skipped sources. */
	if (!may_log_source(s, !more ? TROUBLE_NO_SOURCE : missing ? TROUBLE_MISSING : TROUBLE_SPILL))
		return;
	(void)addr_format(to, to_text);
	if (missing)
		log_line(LOG_LEVEL_WARNING,
			 "source %s of server %s/%s is not an address of this machine ('ip addr' lists "
			 "them); %s",
			 source_text(source, text), backend, server,
			 more ? "the next source is used" : "no other source is left");
	else
		log_line(LOG_LEVEL_WARNING,
			 "no port is left%s%s for connections to server %s/%s at %s; %s (add addresses to "
			 "source=, or widen sysctl net.ipv4.ip_local_port_range)",
			 source->len != 0 ? " at source " : "",
			 source->len != 0 ? source_text(source, text) : "", backend, server, to_text,
			 more ? "the next source is used" : "clients wait for one to become free");
}

/* Counts and logs that a source cannot be used. */
static void count_shortage(struct session *s, const struct addr *to, bool missing)
{
	struct counters *c = &s->worker->counters;

	if (!missing)
		counter_add(&c->ports_exhausted, 1);
	if (has_next(s, to->sa.sa_family))
		counter_add(&c->source_spills, 1);
	log_source(s, last_source(s), to, missing);
}

/* Opens a socket at the next source that can be bound. The descriptor or -errno. */
static int open_next(struct session *s, const struct addr *to, const struct sock_tcp *opt)
{
	const struct addr *source;
	int fd = -EADDRNOTAVAIL;

	while ((source = next_source(s, to->sa.sa_family)) != NULL) {
		fd = sock_open(to, source, opt);
		if (fd != -EADDRNOTAVAIL && fd != -EADDRINUSE)
			return fd;
		/* bind(2) failed: the address is not on this machine, or its one port is taken. */
		count_shortage(s, to, fd == -EADDRNOTAVAIL);
	}
	return fd == -EADDRINUSE ? -EADDRNOTAVAIL : fd;
}

bool server_sock_spill(struct session *s)
{
	const struct addr *to = server_port_addr(s);
	const struct sock_tcp opt = options_of(s);
	struct io_sock *sock = &s->sides[SIDE_SERVER].sock;
	int fd;

	check(sock->rd == NULL);
	check(sock->wr == NULL);
	check(sock->fd >= 0);
	check(s->state == SESSION_CONNECTING);
	count_shortage(s, to, false);
	if (!has_next(s, to->sa.sa_family))
		return false;
	fd = open_next(s, to, &opt);
	if (fd < 0)
		return false;
	sys_close(sock->fd); /* it was never connected: nothing of it is in flight */
	io_sock_init(sock, fd, true);
	return true;
}

/* ---- the client's own address ---- */

static bool client_source(const struct session *s, int family, struct addr *out)
{
	const struct addr_brief *client = &s->client;

	check(family == AF_INET || family == AF_INET6);
	memset(out, 0, sizeof(*out));
	if (client->family != family)
		return false;
	out->sa.sa_family = client->family;
	if (family == AF_INET) {
		out->len = sizeof(out->in);
		memcpy(&out->in.sin_addr, client->ip, sizeof(out->in.sin_addr));
	} else {
		out->len = sizeof(out->in6);
		memcpy(&out->in6.sin6_addr, client->ip, sizeof(out->in6.sin6_addr));
		out->in6.sin6_scope_id = client->scope;
	}
	return true;
}

/* Whatever fails here is on our side: the server has not been contacted. */
static int open_as_client(struct session *s, const struct addr *to)
{
	const char *backend = backend_of(s)->name, *server = server_of(s)->name;
	const struct sock_tcp opt = options_of(s);
	struct addr source;
	char text[ADDR_TEXT_MAX], to_text[ADDR_TEXT_MAX];
	int fd;

	if (!client_source(s, to->sa.sa_family, &source)) {
		if (may_log_source(s, TROUBLE_FAMILY))
			log_line(LOG_LEVEL_WARNING,
				 "source=client: client %s and server %s/%s at %s have different address "
				 "families; give each family its own backend",
				 addr_brief_format(&s->client, text), backend, server,
				 addr_format(to, to_text));
		return -EADDRNOTAVAIL;
	}
	fd = sock_open(to, &source, &opt);
	if (fd >= 0 || (server_sock_is_shortage(fd) && fd != -EADDRNOTAVAIL))
		return fd;
	if (may_log_source(s, TROUBLE_SOCKET))
		log_line(LOG_LEVEL_WARNING,
			 "source=client: cannot create a socket with address %s for server %s/%s: %s",
			 addr_format(&source, text), backend, server, strerrordesc_np(-fd));
	return -EADDRNOTAVAIL;
}

/* ---- a socket ---- */

/* What the operator can do about a socket that could not be created. */
static const char *advice(int err, enum sock_option refused, char *buf, size_t room)
{
	const bool forbidden = err == -EPERM || err == -EACCES;
	const char *capability = forbidden ? sock_option_capability(refused) : "";

	check(err < 0);
	if (refused != SOCK_OPTION_NONE) {
		/* Even truncated, it names the option. */
		(void)snprintf(buf, room, "the kernel refused '%s' of the backend%s%s",
			       sock_option_word(refused), capability[0] != '\0' ? "; it needs " : "",
			       capability);
		return buf;
	}
	if (err == -EAFNOSUPPORT)
		return "give the server an address of another family, or allow this one "
		       "(RestrictAddressFamilies= of the unit)";
	if (forbidden)
		return "a sandbox forbids it, or source= has a port below 1024 without CAP_NET_BIND_SERVICE";
	return "see source= and the socket options of the backend";
}

static void log_refusal(struct session *s, const struct addr *to, int err, enum sock_option refused)
{
	char to_text[ADDR_TEXT_MAX], text[160];

	if (may_log_source(s, TROUBLE_SOCKET))
		log_line(LOG_LEVEL_WARNING,
			 "cannot create a socket for server %s/%s at %s: %s; not a fault of the server: %s",
			 backend_of(s)->name, server_of(s)->name, addr_format(to, to_text),
			 strerrordesc_np(-err), advice(err, refused, text, sizeof(text)));
}

int server_sock_open(struct session *s, const struct addr *to)
{
	const struct config_sources *sources = sources_of(s);
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_tcp opt = options_of(s);
	int fd;

	check(s->server_counted);
	check(s->sides[SIDE_SERVER].sock.fd < 0);
	opt.refused = &refused;
	s->sources_tried = 0;
	if (likely(addr_is_unix(to) || (sources->count == 0 && !sources->client)))
		fd = sock_open(to, &no_source, &opt);
	else if (sources->client)
		fd = open_as_client(s, to);
	else if (has_next(s, to->sa.sa_family))
		fd = open_next(s, to, &opt);
	else
		fd = sock_open(to, &no_source, &opt); /* no source has this family: the kernel chooses */
	if (unlikely(fd < 0)) {
		if (!server_sock_is_shortage(fd))
			log_refusal(s, to, fd, refused);
		return fd;
	}
	io_sock_init(&s->sides[SIDE_SERVER].sock, fd, !addr_is_unix(to));
	return 0;
}

void server_sock_log_itself(const struct config_backend *b, const struct config_server *server,
			    const struct addr *to)
{
	char text[ADDR_TEXT_MAX];

	log_line(LOG_LEVEL_WARNING,
		 "server %s/%s at %s: connected to itself: nothing listens there, and the kernel chose the "
		 "server's port as our source port; move the server to a port outside "
		 "net.ipv4.ip_local_port_range, or add its port to net.ipv4.ip_local_reserved_ports",
		 b->name, server->name, addr_format(to, text));
}

bool server_sock_met_itself(struct session *s, const struct addr *to)
{
	const int fd = s->sides[SIDE_SERVER].sock.fd;

	check(fd >= 0);
	if (likely(!s->at->meets_itself) || likely(!self_connect_happened(fd, to)))
		return false;
	sock_harden(fd); /* in TIME_WAIT it would hold the server's port */
	counter_add(&s->worker->counters.self_connects, 1);
	if (log_limit_ok(server_line_limit(s), LOG_CAUSE_CONNECT, TROUBLE_ITSELF, s->worker->loop.now_ns, 1))
		server_sock_log_itself(backend_of(s), server_of(s), to);
	return true;
}

int server_sock_probe(const struct config_backend *b, const struct config_server *server,
		      enum sock_option *refused)
{
	struct sock_tcp opt = sock_tcp_of(&b->tcp);
	struct addr to = {.len = sizeof(to.in), .in.sin_family = AF_INET};
	int fd;

	opt.transparent = server->source.client;
	opt.refused = refused;
	*refused = SOCK_OPTION_NONE;
	if (server->addr.kind == ADDR_UNIX)
		return 0;
	if (server->addr.kind == ADDR_IP)
		to = server->addr.addr;
	else if (server->addr.family == AF_INET6)
		to = (struct addr){.len = sizeof(to.in6), .in6.sin6_family = AF_INET6};
	fd = sock_open(&to, &no_source, &opt);
	if (fd < 0)
		return fd;
	sys_close(fd);
	return 0;
}
