/* SPDX-License-Identifier: MIT
 *
 * families.c - two wildcards of one port, one for IPv4 and one for IPv6, as nginx and HAProxy write them.
 *
 * [::]:80 alone accepts both families, and cannot be bound beside another wildcard for IPv4. So each of two
 * such lines gets one family here, before validation looks for addresses used twice. Main thread.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

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

static bool may_be_split(const struct config_bind *b)
{
	return b->addr.port != 0 && (takes_all_of_four(b) || takes_all_of_six(b));
}

/* ---- those that have the same ports, and interface ---- */

static int compare_numbers(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* 0 = they are a pair, if each takes all of another family. */
static int compare_ports(const struct config_bind *a, const struct config_bind *b)
{
	const char *here = a->interface, *there = b->interface;
	int order = compare_numbers(a->addr.port, b->addr.port);

	if (order == 0)
		order = compare_numbers(a->addr.last_port, b->addr.last_port);
	if (order != 0 || here == there)
		return order;
	return here == NULL ? -1 : there == NULL ? 1 : strcmp(here, there);
}

static int compare_wildcards(const void *left, const void *right)
{
	const struct config_bind *const *a = left, *const *b = right;

	return compare_ports(*a, *b);
}

/* ---- splitting ---- */

static void split(struct config_bind *b)
{
	const uint16_t port = b->addr.port;

	if (takes_all_of_six(b)) {
		b->v6only = true;
		return;
	}
	b->addr = (struct addr_spec){.kind = ADDR_IP, .port = port, .last_port = b->addr.last_port};
	addr_any4(&b->addr.addr, port);
}

/* Of `list`, how many have the ports of the first one. */
static size_t count_same(struct config_bind *const *list, size_t count)
{
	size_t n = 1;

	while (n < count && compare_ports(list[0], list[n]) == 0)
		n++;
	return n;
}

static void split_pairs(struct config_bind *const *list, size_t count)
{
	bool four = false, six = false;

	for (size_t i = 0; i < count; i++) {
		four = four || takes_all_of_four(list[i]);
		six = six || takes_all_of_six(list[i]);
	}
	for (size_t i = 0; i < count && four && six; i++)
		split(list[i]);
}

void build_split_families(const struct build *b)
{
	struct config_bind **list;
	size_t count = 0;

	for (size_t i = 0; i < b->proxy_count; i++)
		count += b->proxies[i].bind_count;
	list = arena_alloc(b->diag->arena, (count + 1) * sizeof(struct config_bind *));
	count = 0;
	for (size_t i = 0; i < b->proxy_count; i++)
		for (size_t n = 0; n < b->proxies[i].bind_count; n++)
			if (may_be_split(&b->proxies[i].binds[n]))
				list[count++] = &b->proxies[i].binds[n];
	if (count > 0)
		qsort(list, count, sizeof(struct config_bind *), compare_wildcards);
	for (size_t i = 0; i < count; i += count_same(&list[i], count - i))
		split_pairs(&list[i], count_same(&list[i], count - i));
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

/* Those that take all of IPv6, sorted; the caller frees it. NULL when out of memory. */
static const struct config_bind **find_sixes(const struct config *c, size_t *count)
{
	const struct config_bind **list;

	*count = 0;
	for (size_t i = 0; i < c->frontend_count; i++)
		*count += c->frontends[i].bind_count;
	list = calloc(*count + 1, sizeof(*list));
	*count = 0;
	for (size_t i = 0; i < c->frontend_count && list != NULL; i++)
		for (size_t n = 0; n < c->frontends[i].bind_count; n++)
			if (takes_all_of_six(&c->frontends[i].binds[n]))
				list[(*count)++] = &c->frontends[i].binds[n];
	if (*count > 0)
		qsort(list, *count, sizeof(*list), compare_wildcards);
	return list;
}

/* Without memory it says nothing: what is split is in -T, too. */
void config_print_families(const struct config *c, const char *prefix, FILE *out)
{
	size_t count;
	const struct config_bind **sixes = find_sixes(c, &count);

	for (size_t i = 0; i < c->frontend_count && count > 0; i++)
		for (size_t n = 0; n < c->frontends[i].bind_count; n++) {
			const struct config_bind *four = &c->frontends[i].binds[n], **six = NULL;

			if (takes_all_of_four(four) && four->addr.port != 0 && begins_line(four))
				six = bsearch(&four, sixes, count, sizeof(*sixes), compare_wildcards);
			if (six != NULL)
				print_pair(four, *six, prefix, out);
		}
	free(sixes);
}
