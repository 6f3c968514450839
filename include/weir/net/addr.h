/* SPDX-License-Identifier: MIT
 *
 * addr.h - one socket address: IPv4, IPv6, Unix path, Unix abstract, inherited; parsed and printed.
 *
 * A plain value without allocations. Never queries a name server: a host name is kept as text (struct
 * addr_spec) and resolved elsewhere. Any thread.
 */
#ifndef WEIR_NET_ADDR_H
#define WEIR_NET_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Longest printed address with its NUL: "unix:" and 107 bytes of path, in the worst case all escaped. */
#define ADDR_TEXT_MAX 512

struct addr {
	socklen_t len; /* the used length of `sa`; 0 = no address */
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
};

/* An address in 24 bytes for a session: complete for IPv4 and IPv6, only the family for a Unix peer. */
struct addr_brief {
	uint16_t family; /* AF_INET, AF_INET6, AF_UNIX; 0 = none */
	uint16_t port;   /* host order */
	uint32_t scope;
	uint8_t ip[16]; /* IPv4 in the first four bytes */
};

enum addr_kind {
	ADDR_NONE,
	ADDR_IP,   /* `addr` is complete */
	ADDR_ANY,  /* ":443" or "*:443": both families, `addr` is [::]:port */
	ADDR_NAME, /* `host` and `port`; `family` is the requested family */
	ADDR_UNIX, /* `addr` is complete: a path, or an abstract name */
	ADDR_FD,   /* "fd@web": a socket passed to us; `host` is its name, or its number in digits */
	ADDR_SNI,  /* "sni@443": where the client asks to go; `addr` has no family, but the port */
};

/* An address as written by the user. */
struct addr_spec {
	enum addr_kind kind;
	int family; /* AF_UNSPEC, or AF_INET/AF_INET6 when written with "ipv4@" or "ipv6@" */
	uint16_t port;
	uint16_t last_port; /* of a range that begins with `port`; 0 = that one alone */
	bool client_port; /* ":*": of a server, the port that the client connected to; then `port` is 0 */
	struct addr addr;
	char host[256];
};

/* What may stand in place of one port, and of an address with its port. */
enum addr_ports {
	ADDR_PORTS_ONE = 0,
	ADDR_PORTS_RANGE = 1,  /* "30000-30099" */
	ADDR_PORTS_CLIENT = 2, /* "*" */
	ADDR_SNI_TOO = 4,      /* "sni@443", and "sni@*" with ADDR_PORTS_CLIENT, in place of an address */
};

/* Parses `text` (the forms of weir.ini(5): "10.0.0.1:80", "[::1]:80", ":80", "*:80", "name:80",
 * "unix:/path", "/path", "unix:@name", "unix@/path", "abns@name", "ipv4@...", "ipv6@...", "fd@name",
 * "fd@3"; of a server "sni@443").
 * Returns 0, or -EINVAL with `*why` set to a static sentence and `*at` to the offset in `text` that it refers
 * to; both may be NULL. */
int addr_parse(const char *text, struct addr_spec *spec, const char **why, size_t *at);
/* The same with a set of enum addr_ports. */
int addr_parse_ports(const char *text, unsigned ports, struct addr_spec *spec, const char **why, size_t *at);

/* Prints into `buf` (at least ADDR_TEXT_MAX bytes); returns `buf`. Paths are escaped, so the result has no
 * control bytes and no quotes. A `struct addr` without a port, as a server with the client's port has it, is
 * printed as "10.0.0.1:*". */
const char *addr_format(const struct addr *a, char *buf);
const char *addr_spec_format(const struct addr_spec *spec, char *buf);
const char *addr_brief_format(const struct addr_brief *a, char *buf);

/* The number of "fd@3", or -1 for "fd@name". `spec` must be an ADDR_FD. */
int addr_spec_fd(const struct addr_spec *spec);

/* Converts an IPv4 client of a dual-stack listener ("::ffff:10.0.0.1") to its IPv4 address. */
void addr_to_brief(const struct sockaddr *sa, socklen_t len, struct addr_brief *out);

/* The other way; `a` is IPv4 or IPv6. */
void addr_of_brief(struct addr *out, const struct addr_brief *a);

/* The port in host order; 0 for a Unix address or none. */
uint16_t addr_port(const struct addr *a);
/* Sets it; harmless for a Unix address. */
void addr_set_port(struct addr *a, uint16_t port);

/* Are these the same address? Port included, scope ignored. */
bool addr_equal(const struct addr *a, const struct addr *b);

/* Is it 0.0.0.0 or [::], which stand for all addresses of this machine? */
bool addr_is_wildcard(const struct addr *a);

/* 0.0.0.0 with this port: what ":80" means on a machine without IPv6. */
void addr_any4(struct addr *a, uint16_t port);

/* Is it an IP address that only this machine can reach? */
bool addr_is_loopback(const struct addr *a);

static inline bool addr_is_unix(const struct addr *a)
{
	return a->len != 0 && a->sa.sa_family == AF_UNIX;
}

#endif
