/* SPDX-License-Identifier: MIT
 *
 * families.c - two wildcards of one port, one for IPv4 and one for IPv6, as nginx and HAProxy write them.
 *
 * [::]:80 alone accepts both families, and cannot be bound beside another wildcard for IPv4. So each of two
 * such lines gets one family here, before validation looks for addresses used twice. Main thread.
 */
#include <netinet/in.h>

#include "weir/base/same_text.h"
#include "weir/config/bind_range.h"
#include "build.h"

/* ":80" and "0.0.0.0:80": the two that accept all of IPv4, and that may leave IPv6 to another. */
static bool takes_all_of_four(const struct config_bind *b)
{
	if (b->addr.kind == ADDR_ANY)
		return !b->v6only;
	return b->addr.kind == ADDR_IP && b->addr.addr.sa.sa_family == AF_INET &&
	       b->addr.addr.in.sin_addr.s_addr == htonl(INADDR_ANY);
}

/* "[::]:80" */
static bool takes_all_of_six(const struct config_bind *b)
{
	return b->addr.kind == ADDR_IP && b->addr.addr.sa.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&b->addr.addr.in6.sin6_addr);
}

static bool is_pair(const struct config_bind *four, const struct config_bind *six)
{
	return takes_all_of_four(four) && takes_all_of_six(six) && four->addr.port != 0 &&
	       four->addr.port == six->addr.port && four->addr.last_port == six->addr.last_port &&
	       same_text(four->interface, six->interface);
}

static void split(struct config_bind *four, struct config_bind *six)
{
	const uint16_t port = four->addr.port;

	four->addr = (struct addr_spec){.kind = ADDR_IP, .port = port, .last_port = four->addr.last_port};
	addr_any4(&four->addr.addr, port);
	six->v6only = true;
}

/* The other half of `four`, wherever it is. */
static void find_six(const struct build *b, struct config_bind *four)
{
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];

		for (size_t n = 0; n < p->bind_count; n++)
			if (is_pair(four, &p->binds[n]))
				split(four, &p->binds[n]);
	}
}

void build_split_families(const struct build *b)
{
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];

		for (size_t n = 0; n < p->bind_count; n++)
			if (takes_all_of_four(&p->binds[n]))
				find_six(b, &p->binds[n]);
	}
}

/* ---- what -c says of them ---- */

static void print_pair(const struct config_bind *four, const struct config_bind *six, const char *prefix,
		       FILE *out)
{
	char v4[ADDR_TEXT_MAX], v6[ADDR_TEXT_MAX];

	fprintf(out, "%s%s (%s:%u) accepts IPv4 only, %s (%s:%u) IPv6 only\n", prefix,
		bind_line_address(four, v4), four->place.file, four->place.line, bind_line_address(six, v6),
		six->place.file, six->place.line);
}

/* A range is shown once. */
static bool begins_line(const struct config_bind *b)
{
	return !bind_is_in_range(b) || b->addr.port == b->first_port;
}

static void print_pairs_of(const struct config *c, const struct config_bind *four, const char *prefix,
			   FILE *out)
{
	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t n = 0; n < c->frontends[i].bind_count; n++)
			if (is_pair(four, &c->frontends[i].binds[n]))
				print_pair(four, &c->frontends[i].binds[n], prefix, out);
}

void config_print_families(const struct config *c, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t n = 0; n < c->frontends[i].bind_count; n++)
			if (takes_all_of_four(&c->frontends[i].binds[n]) &&
			    begins_line(&c->frontends[i].binds[n]))
				print_pairs_of(c, &c->frontends[i].binds[n], prefix, out);
}
