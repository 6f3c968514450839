/* SPDX-License-Identifier: MIT
 *
 * setting_access.c - allowed clients and destinations: networks, users, ports.
 *
 * A word "@FILE" is a file of networks, which setting_list.c reads. Main thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/values.h"
#include "weir/net/list_file.h"
#include "weir/net/netset.h"
#include "setting.h"

/* Maximum parts of one use-backend line, so that -T can print it as one line. */
#define ROUTE_PARTS_MAX 64
/* For an address range that needs more networks, the message does not list them. */
#define RANGE_PARTS_MAX 8

/* Is this an address range, "10.0.0.1-10.0.0.5" or in another notation? */
static bool is_range(const char *text)
{
	const size_t dash = strcspn(text, "-");

	return text[dash] == '-' && text[strspn(text, "0123456789abcdefABCDEF.:-/")] == '\0' &&
	       (dash == 0 || memchr(text, '.', dash) != NULL || memchr(text, ':', dash) != NULL);
}

static bool read_ip4(const char *text, size_t len, uint32_t *ip)
{
	char part[INET_ADDRSTRLEN];
	struct in_addr in;

	if (len == 0 || len >= sizeof(part))
		return false;
	memcpy(part, text, len);
	part[len] = '\0';
	if (inet_pton(AF_INET, part, &in) != 1)
		return false;
	*ip = ntohl(in.s_addr);
	return true;
}

/* The end of a range that begins at `first`: an address, or the last number of one. */
static bool read_range_end(const char *text, uint32_t first, uint32_t *last)
{
	uint64_t number;

	if (read_ip4(text, strlen(text), last))
		return true;
	if (value_number(text, &number) != 0 || number > 255)
		return false;
	*last = (first & ~UINT32_C(255)) | (uint32_t)number;
	return true;
}

/* The networks that make up "10.0.0.1-10.0.0.5", separated by `between`; NULL if there are too many, or it is
 * not an IPv4 range. */
static const char *networks_of_range(struct arena *a, const char *text, const char *between)
{
	const size_t dash = strcspn(text, "-");
	uint32_t first, last;
	const char *sum = "";

	if (!read_ip4(text, dash, &first) || !read_range_end(text + dash + 1, first, &last) || last < first)
		return NULL;
	for (unsigned parts = 0; parts < RANGE_PARTS_MAX; parts++) {
		unsigned bits = 32;
		struct in_addr in;
		char ip[INET_ADDRSTRLEN];

		/* The largest network that is aligned at `first` and does not exceed the range. */
		while (bits > 0 && (first & (UINT32_C(1) << (32 - bits))) == 0 &&
		       last - first >= (UINT64_C(1) << (33 - bits)) - 1)
			bits--;
		in.s_addr = htonl(first);
		(void)inet_ntop(AF_INET, &in, ip, sizeof(ip)); /* there is room for any */
		sum = arena_printf(a, "%s%s%s", sum, parts > 0 ? between : "", ip);
		if (bits < 32)
			sum = arena_printf(a, "%s/%u", sum, bits);
		if (last - first < UINT64_C(1) << (32 - bits))
			return sum;
		first += (uint32_t)(UINT64_C(1) << (32 - bits));
	}
	return NULL;
}

int setting_network(const struct setting *s, struct at at, const char *text, struct net_prefix *prefix)
{
	const char *between = (s->option->sections & IN_ROUTE) != 0 ? "," : " ";
	const char *why = NULL, *range;

	if (net_prefix_parse(text, prefix, &why) == 0)
		return 0;
	diag_error(s->diag, DIAG_BAD_ADDRESS, at, "'%s' is not a valid network", text);
	range = is_range(text) ? networks_of_range(s->diag->arena, text, between) : NULL;
	if (range != NULL)
		diag_hint(s->diag, "a range is not a network: write %s", range);
	else if (is_range(text))
		diag_hint(s->diag, "a range is not a network: write the networks it has, as in %s",
			  strchr(text, ':') != NULL ? "2001:db8::/64" : "192.168.0.0/24");
	else
		diag_hint(s->diag, "%s", why);
	return -EINVAL;
}

int setting_add_network(const struct setting *s, const struct word *part, struct config_networks *n)
{
	struct net_prefix prefix;

	if (part->text[0] == '@')
		return setting_add_list(s, part, LIST_NETWORKS, &n->files, &n->file_count);
	if (setting_network(s, part->at, part->text, &prefix) != 0)
		return -EINVAL;
	n->list = arena_grow(s->diag->arena, n->list, n->count, sizeof(prefix));
	n->list[n->count++] = prefix;
	return 0;
}

/* The comma-separated parts of one word; it may end in a comma ("10.0.0.0/8, 192.0.2.7"). */
static int add_word(const struct setting *s, const struct word *w, struct config_networks *n)
{
	int result = 0;

	for (size_t at = 0; at < w->len;) {
		struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));

		if (setting_add_network(s, &part, n) != 0)
			result = -EINVAL;
		at += part.len + 1;
	}
	return result;
}

static bool is_empty(const struct config_networks *n)
{
	for (size_t i = 0; i < n->file_count; i++)
		if (list_file_count(n->files[i].list) > 0)
			return false;
	return n->count == 0;
}

int setting_parse_networks(const struct setting *s, void *field)
{
	struct config_networks *n = field;
	bool route = (s->option->sections & IN_ROUTE) != 0;
	int result = 0;

	for (size_t i = 0; i < s->words.count; i++) {
		if (add_word(s, &s->words.list[i], n) != 0)
			result = -EINVAL;
	}
	if (result == 0 && is_empty(n) && !(route && n->file_count > 0)) {
		/* An empty list, which admits nobody or everybody, is not what the user meant. A file that
		 * chooses a backend may be empty for now. */
		diag_error(s->diag, DIAG_NO_VALUE, s->words.list[0].at, "'%s' names no network",
			   s->option->key);
		diag_hint(s->diag, "write 0.0.0.0/0 and ::/0 for all");
		return -EINVAL;
	}
	if (route && n->count + n->file_count > ROUTE_PARTS_MAX) {
		diag_error(s->diag, DIAG_OUT_OF_RANGE, s->words.list[0].at, "'src' takes at most %d networks",
			   ROUTE_PARTS_MAX);
		diag_hint(s->diag, "write them into a file, one per line, and src=@FILE");
		return -EINVAL;
	}
	return result;
}

/* Users by name or number, as `user=` of a socket takes one; or groups. */
int setting_parse_users(const struct setting *s, void *field)
{
	const enum option_type type = s->option->type == OPT_GIDS ? OPT_GROUP : OPT_USER;
	struct config_ids *ids = field;
	int result = 0;

	for (size_t i = 0; i < s->words.count; i++) {
		const struct word *w = &s->words.list[i];

		for (size_t at = 0; at < w->len;) {
			struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));
			struct option row = {.key = s->option->key, .type = type};
			struct setting one = {s->diag, &row, {&part, 1}, NULL};
			uint32_t id = 0;

			at += part.len + 1;
			if (setting_parse_id(&one, &id) != 0) {
				result = -EINVAL;
				continue;
			}
			ids->list = arena_grow(s->diag->arena, ids->list, ids->count, sizeof(id));
			ids->list[ids->count++] = id;
		}
	}
	return result;
}

/* "8080" or "9000-9010"; -EINVAL without reporting. */
static int take_ports(struct diag *d, const struct word *w, struct config_ports *ports)
{
	size_t dash = strcspn(w->text, "-");
	struct word first = word_part(d, w, 0, dash);
	uint64_t a = 0, b = 0;

	if (value_number(first.text, &a) != 0 || a == 0 || a > UINT16_MAX)
		return -EINVAL;
	b = a;
	if (w->text[dash] == '-' && value_number(w->text + dash + 1, &b) != 0)
		return -EINVAL;
	if (b < a || b > UINT16_MAX)
		return -EINVAL;
	*ports = (struct config_ports){(uint16_t)a, (uint16_t)b};
	return 0;
}

int setting_parse_ports(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct route_ports *ports = field;

	for (size_t at = 0; at <= w->len;) {
		struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));
		struct config_ports range;

		if (take_ports(s->diag, &part, &range) != 0 || ports->count == ROUTE_PARTS_MAX) {
			diag_error(s->diag, DIAG_BAD_VALUE, part.at, "'%s' is not a port or a range of ports",
				   part.text);
			diag_hint(s->diag, "write dst-port=8080,9000-9010, at most %d of them",
				  ROUTE_PARTS_MAX);
			return -EINVAL;
		}
		ports->list = arena_grow(s->diag->arena, ports->list, ports->count, sizeof(range));
		ports->list[ports->count++] = range;
		at += part.len + 1;
	}
	return 0;
}
