/* SPDX-License-Identifier: MIT
 *
 * addr.c - parses socket addresses; addr_format.c prints and compares them.
 *
 * Owns the forms of weir.ini(5) and the sentences that reject everything else. Queries no name server, and
 * the kernel only for the number of a network interface. Any thread.
 */
#include "weir/net/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"

/* The largest number of an inherited descriptor; the kernel's limit (fs.nr_open) is never larger. */
#define FD_NUMBER_MAX 0x3fffffffu
/* systemd's limit for FileDescriptorName=. */
#define FD_NAME_MAX 255u
#define PATH_MAX_BYTES (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
/* A host name has at most 255 bytes on the wire, which are 253 characters. */
#define HOST_MAX 253u
#define LABEL_MAX 63u
#define DIGITS "0123456789"

#define UNIX_PREFIX "unix:"
#define FD_PREFIX "fd@"
#define SNI_PREFIX "sni@"

static_assert(PATH_MAX_BYTES == 107, "addr.h and its messages say 107");
static_assert(FD_NAME_MAX < sizeof(((struct addr_spec *)0)->host), "a name fits with its NUL");
static_assert(HOST_MAX < sizeof(((struct addr_spec *)0)->host), "a host name fits with its NUL");

/* One parse: the start of the text, the result so far, and the error. */
struct parser {
	const char *text;
	struct addr_spec *spec;
	unsigned ports; /* a set of enum addr_ports */
	const char *why;
	size_t at;
};

static int reject(struct parser *p, const char *where, const char *why)
{
	p->why = why;
	p->at = (size_t)(where - p->text);
	return -EINVAL;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Only digits, a value up to `max`; false for anything else. */
static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (!is_digit(*text))
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > max)
			return false;
	}
	*number = n;
	return true;
}

/* ---- Unix sockets ---- */

static int parse_path(struct parser *p, const char *path)
{
	struct addr *a = &p->spec->addr;
	const size_t len = strlen(path);

	if (path[0] != '/')
		return reject(p, path, "a socket's path begins with '/' (an abstract name with '@')");
	if (len > PATH_MAX_BYTES)
		return reject(p, path + PATH_MAX_BYTES, "the kernel limits a path to 107 bytes");
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, path, len + 1);
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	p->spec->kind = ADDR_UNIX;
	return 0;
}

static int parse_abstract(struct parser *p, const char *name)
{
	struct addr *a = &p->spec->addr;
	const size_t len = strlen(name);

	if (len == 0)
		return reject(p, name, "the abstract name is missing, as in unix:@app");
	if (len > PATH_MAX_BYTES)
		return reject(p, name + PATH_MAX_BYTES, "the kernel limits a name to 107 bytes");
	a->un.sun_family = AF_UNIX;
	/* A leading NUL makes it abstract. There is none at the end: all of `len` belongs to the name. */
	a->un.sun_path[0] = '\0';
	memcpy(a->un.sun_path + 1, name, len);
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
	p->spec->kind = ADDR_UNIX;
	return 0;
}

static int parse_unix(struct parser *p, const char *text)
{
	if (*text == '\0')
		return reject(p, text, "the path is missing, as in unix:/run/app.sock");
	return *text == '@' ? parse_abstract(p, text + 1) : parse_path(p, text);
}

/* ---- inherited sockets ---- */

/* "fd@web" and "fd@3": the characters that systemd allows in a name, except blanks and quotes. */
static int parse_fd(struct parser *p, const char *name)
{
	const size_t len = strlen(name);
	uint64_t number;

	if (len == 0)
		return reject(p, name, "the name is missing, as in fd@web (FileDescriptorName=web)");
	if (len > FD_NAME_MAX)
		return reject(p, name + FD_NAME_MAX, "a descriptor name has at most 255 characters");
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~' || strchr(":\"'", name[i]) != NULL)
			return reject(p, name + i, "a descriptor name has no blanks, quotes or ':'");
	if (name[strspn(name, DIGITS)] == '\0') {
		if (!parse_number(name, FD_NUMBER_MAX, &number))
			return reject(p, name, "the descriptor number is too large");
		if (number <= 2)
			return reject(p, name, "descriptors 0 to 2 are the standard streams");
		if (name[0] == '0')
			return reject(p, name, "write the number without leading zeros");
	}
	memcpy(p->spec->host, name, len + 1);
	p->spec->kind = ADDR_FD;
	return 0;
}

int addr_spec_fd(const struct addr_spec *spec)
{
	uint64_t number;

	check(spec->kind == ADDR_FD);
	return parse_number(spec->host, FD_NUMBER_MAX, &number) ? (int)number : -1;
}

/* ---- IP addresses and names ---- */

static void set_in(struct addr *a, struct in_addr ip, uint16_t port)
{
	a->in.sin_family = AF_INET;
	a->in.sin_addr = ip;
	a->in.sin_port = htons(port);
	a->len = sizeof(a->in);
}

void addr_any4(struct addr *a, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	set_in(a, (struct in_addr){htonl(INADDR_ANY)}, port);
}

static void set_in6(struct addr *a, struct in6_addr ip, uint16_t port)
{
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_addr = ip;
	a->in6.sin6_port = htons(port);
	a->len = sizeof(a->in6);
}

/* ":80", "*:80", and the same after "ipv4@" and "ipv6@". */
static int parse_any(struct parser *p)
{
	struct addr_spec *spec = p->spec;

	spec->kind = spec->family == AF_UNSPEC ? ADDR_ANY : ADDR_IP;
	if (spec->family == AF_INET)
		set_in(&spec->addr, (struct in_addr){htonl(INADDR_ANY)}, spec->port);
	else
		set_in6(&spec->addr, in6addr_any, spec->port);
	return 0;
}

/* The part after '%': an interface by name or number. */
static int parse_scope(struct parser *p, const char *scope, const char *where)
{
	struct sockaddr_in6 *in6 = &p->spec->addr.in6;
	uint64_t number;

	if (!IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && !IN6_IS_ADDR_MC_LINKLOCAL(&in6->sin6_addr))
		return reject(p, where, "only a link-local address (fe80::/10) takes an interface after '%'");
	if (!parse_number(scope, UINT32_MAX, &number))
		number = if_nametoindex(scope);
	if (number == 0)
		return reject(p, where, "there is no network interface with this name");
	in6->sin6_scope_id = (uint32_t)number;
	return 0;
}

/* "[::1]": `host` is the part between the brackets, `len` bytes long. */
static int parse_ip6(struct parser *p, const char *host, size_t len)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	struct in6_addr ip;
	char *scope;

	if (p->spec->family == AF_INET)
		return reject(p, host, "'ipv4@' and an IPv6 address contradict each other");
	if (len >= sizeof(text))
		return reject(p, host, "not a valid IPv6 address");
	memcpy(text, host, len);
	text[len] = '\0';
	scope = strchr(text, '%');
	if (scope != NULL)
		*scope++ = '\0';
	if (inet_pton(AF_INET6, text, &ip) != 1)
		return reject(p, host, "not a valid IPv6 address");
	set_in6(&p->spec->addr, ip, p->spec->port);
	p->spec->kind = ADDR_IP;
	return scope != NULL ? parse_scope(p, scope, host + (scope - text)) : 0;
}

/* Would the C library read this name as a number, as it reads "10.1" and "0x7f000001"? */
static bool looks_numeric(const char *host)
{
	const char *dot = strrchr(host, '.');
	const char *last = dot != NULL ? dot + 1 : host;
	const bool is_hex = last[0] == '0' && (last[1] == 'x' || last[1] == 'X');

	if (!is_digit(last[0]))
		return false;
	if (is_hex)
		return last[2 + strspn(last + 2, DIGITS "abcdefABCDEF")] == '\0';
	return last[strspn(last, DIGITS)] == '\0';
}

/* Checks `host`, a copy of the text at `where`. */
static int verify_host_name(struct parser *p, const char *host, const char *where)
{
	size_t label = 0; /* length of the current label */
	size_t i;

	for (i = 0; host[i] != '\0'; i++) {
		const char c = host[i];

		if (c == '.') {
			if (label == 0)
				return reject(p, where + i, "a part of the host name is empty");
			label = 0;
			continue;
		}
		if (!is_alnum(c) && c != '-' && c != '_')
			return reject(p, where + i, "a host name has only letters, digits, '-', '_', '.'");
		if (c == '-' && label == 0)
			return reject(p, where + i, "a part of a host name cannot begin with '-'");
		if (++label > LABEL_MAX)
			return reject(p, where + i, "a part of the host name is longer than 63 characters");
	}
	return label > 0 ? 0 : reject(p, where + i, "a part of the host name is empty");
}

/* "10.0.0.1" or "name": `len` bytes. */
static int parse_ip4_or_name(struct parser *p, const char *host, size_t len)
{
	struct addr_spec *spec = p->spec;
	struct in_addr ip;

	if (len > HOST_MAX)
		return reject(p, host + HOST_MAX, "the host name is longer than 253 characters");
	memcpy(spec->host, host, len);
	spec->host[len] = '\0';
	if (inet_pton(AF_INET, spec->host, &ip) == 1) {
		memset(spec->host, 0, sizeof(spec->host));
		if (spec->family == AF_INET6)
			return reject(p, host, "'ipv6@' and an IPv4 address contradict each other");
		set_in(&spec->addr, ip, spec->port);
		spec->kind = ADDR_IP;
		return 0;
	}
	spec->kind = ADDR_NAME;
	/* A dot at the very end is the root's; no label follows it. */
	if (len > 1 && host[len - 1] == '.')
		spec->host[len - 1] = '\0';
	if (looks_numeric(spec->host) && strchr(spec->host, '-') != NULL)
		return reject(p, host, "address ranges are not accepted here: write one line per address");
	if (looks_numeric(spec->host))
		return reject(p, host, "not a valid IPv4 address: write four numbers from 0 to 255");
	if (verify_host_name(p, spec->host, host) != 0)
		return -EINVAL;
	memcpy(spec->host, host, len);
	return 0;
}

static bool takes_client_port(const struct parser *p)
{
	return (p->ports & ADDR_PORTS_CLIENT) != 0;
}

/* "30000-30099"; `dash` is in it. */
static int parse_range(struct parser *p, const char *port, const char *dash)
{
	char first[8];
	const size_t len = (size_t)(dash - port);
	uint64_t low, high;

	if (takes_client_port(p))
		return reject(p, port,
			      "a server has one port: write a line for each, or :* for the port that the "
			      "client connected to");
	if ((p->ports & ADDR_PORTS_RANGE) == 0)
		return reject(p, port, "a range of ports is for 'bind' in a frontend: write one port");
	if (len >= sizeof(first))
		return reject(p, port, "a port is a number from 0 to 65535");
	memcpy(first, port, len);
	first[len] = '\0';
	if (!parse_number(first, UINT16_MAX, &low) || !parse_number(dash + 1, UINT16_MAX, &high))
		return reject(p, port, "a range is two ports from 1 to 65535, as in 30000-30099");
	if (low == 0)
		return reject(p, port, "a range begins with a port from 1 to 65535");
	if (high < low)
		return reject(p, port, "the second port of a range is not below the first");
	p->spec->port = (uint16_t)low;
	p->spec->last_port = high > low ? (uint16_t)high : 0;
	return 0;
}

static int parse_port(struct parser *p, const char *port)
{
	const char *dash = strchr(port, '-');
	uint64_t number;

	if (*port == '\0')
		return reject(p, port, "the port is missing after ':'");
	if (strcmp(port, "*") == 0 && takes_client_port(p)) {
		p->spec->client_port = true;
		return 0;
	}
	if (strcmp(port, "*") == 0)
		return reject(p, port,
			      "':*' is the port that a client connected to: only a server can have it");
	if (takes_client_port(p) && (*port == '+' || *port == '-') && port[1] != '\0' &&
	    port[1 + strspn(port + 1, DIGITS)] == '\0')
		return reject(p, port, strcmp(port + 1, "0") == 0
					       ? "write :* for the port that the client connected to"
					       : "weir adds nothing to the client's port: write :* for that "
						 "port itself, or one [listen] per port");
	if (port[strspn(port, DIGITS "-")] == '\0' && is_digit(*port) && dash != NULL)
		return parse_range(p, port, dash);
	if (!parse_number(port, UINT16_MAX, &number))
		return reject(p, port, "a port is a number from 0 to 65535");
	p->spec->port = (uint16_t)number;
	return 0;
}

/* HOST:PORT; `text` is not empty. */
static int parse_host_port(struct parser *p, const char *text)
{
	const char *close = *text == '[' ? strchr(text, ']') : NULL;
	const char *colon = *text == '[' ? close != NULL ? close + 1 : NULL : strrchr(text, ':');
	size_t len;

	if (*text == '[' && close == NULL)
		return reject(p, text, "the closing ']' is missing");
	if (*text != '\0' && text[strspn(text, "0123456789")] == '\0')
		return reject(p, text, "write ':' before a port without an address, as in :8080");
	if (strstr(text, "://") != NULL)
		return reject(p, text, "leave out the scheme: write ADDRESS:PORT");
	if (strchr(text, ',') != NULL)
		return reject(p, text, "only one address per line: write a line for each");
	if (*text == '.' && strchr(text, '/') != NULL)
		return reject(p, text, "a socket's path begins with '/'");
	if (colon == NULL && is_digit(*text) && text[strspn(text, "0123456789-")] == '\0')
		return reject(p, text, "write ':' before ports without an address, as in :8080-8089");
	if (colon == NULL || *colon == '\0')
		return reject(p, text + strlen(text), takes_client_port(p)
			      ? "the port is missing: write ADDRESS:PORT, or ADDRESS:* for the port that the "
				"client connected to"
			      : "the port is missing: write ADDRESS:PORT");
	if (*colon != ':')
		return reject(p, colon, "']' must be followed by ':' and the port");
	len = (size_t)(colon - text);
	if (*text != '[' && memchr(text, ':', len) != NULL)
		return reject(p, text, "write an IPv6 address in brackets, as in [::1]:80");
	if (parse_port(p, colon + 1) != 0)
		return -EINVAL;
	if (len == 0 || (len == 1 && *text == '*'))
		return parse_any(p);
	if (*text == '[')
		return parse_ip6(p, text + 1, len - 2);
	return parse_ip4_or_name(p, text, len);
}

/* "sni@443", "sni@*": the host is the one that the client asks for. */
static int parse_sni(struct parser *p, const char *port)
{
	struct addr *a = &p->spec->addr;

	if ((p->ports & ADDR_SNI_TOO) == 0)
		return reject(p, p->text, "sni@ is for 'server': clients are sent to the name they ask for");
	if (*port == '\0' || strchr(port, ':') != NULL)
		return reject(p, port, "write sni@ and a port, as in sni@443, or sni@* for the port that the "
				       "client connected to");
	if (parse_port(p, port) != 0)
		return -EINVAL;
	/* No family: whoever mistakes it for an address cannot connect to it. */
	a->in.sin_port = htons(p->spec->port);
	a->len = sizeof(a->in);
	p->spec->kind = ADDR_SNI;
	return 0;
}

static int parse(struct parser *p)
{
	const char *text = p->text;

	if (*text == '\0')
		return reject(p, text, "the address is missing: write ADDRESS:PORT or unix:/PATH");
	if (*text == '/')
		return parse_path(p, text);
	if (starts_with(text, UNIX_PREFIX) || starts_with(text, "unix@"))
		return parse_unix(p, text + strlen(UNIX_PREFIX));
	if (starts_with(text, "abns@"))
		return parse_abstract(p, text + strlen("abns@"));
	if (*text == '@')
		return reject(p, text, "write an abstract name as unix:@NAME");
	if (starts_with(text, FD_PREFIX))
		return parse_fd(p, text + strlen(FD_PREFIX));
	if (starts_with(text, SNI_PREFIX))
		return parse_sni(p, text + strlen(SNI_PREFIX));
	if (starts_with(text, "ipv4@") || starts_with(text, "ipv6@")) {
		p->spec->family = text[3] == '4' ? AF_INET : AF_INET6;
		text += strlen("ipv4@");
		if (*text == '\0')
			return reject(p, text, "the address is missing after '@'");
	}
	return parse_host_port(p, text);
}

int addr_parse(const char *text, struct addr_spec *spec, const char **why, size_t *at)
{
	return addr_parse_ports(text, ADDR_PORTS_ONE, spec, why, at);
}

int addr_parse_ports(const char *text, unsigned ports, struct addr_spec *spec, const char **why, size_t *at)
{
	struct parser p = {.text = text, .spec = spec, .ports = ports};
	int err;

	memset(spec, 0, sizeof(*spec));
	err = parse(&p);
	if (!err)
		return 0;
	check(p.why != NULL);
	memset(spec, 0, sizeof(*spec));
	if (why != NULL)
		*why = p.why;
	if (at != NULL)
		*at = p.at;
	return err;
}
