/* SPDX-License-Identifier: MIT
 *
 * setting_admin.c - `admin-socket`: a Unix socket, and its users; and the address of [stats].
 *
 * Rejects other kinds of addresses, an owner for an abstract name, which has no file, and more users than fit
 * on a line of -T. Main thread.
 */
#include "setting.h"

#include <errno.h>

#include "weir/base/check.h"

/* Maximum users or groups, so that -T can print each kind on one line. */
#define ADMIN_IDS_MAX 64

/* Anyone who knows an abstract name can connect to it: an owner and a mode would have no effect. */
static int validate_name(const struct setting *s, unsigned section)
{
	static const char *const keys[] = {"mode", "user", "group"};
	int result = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct word *w = setting_find_word(s->diag->arena, &s->words, section, keys[i]);

		if (w == NULL)
			continue;
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'%s' has no effect on an abstract socket",
			   keys[i]);
		if (section == IN_ADMIN)
			diag_hint(s->diag,
				  "write a path, as in unix:/run/weir/admin.sock mode=660; or allow-uid=... "
				  "or allow-gid=... instead");
		else
			diag_hint(s->diag, "write a path, as in unix:/run/weir/stats.sock mode=660");
		result = -EINVAL;
	}
	return result;
}

static int validate_count(const struct setting *s, const struct config_ids *ids, const char *key)
{
	if (ids->count <= ADMIN_IDS_MAX)
		return 0;
	diag_error(s->diag, DIAG_OUT_OF_RANGE, s->words.list[0].at, "'%s' takes at most %d entries", key,
		   ADMIN_IDS_MAX);
	diag_hint(s->diag, "put these users into one group and write allow-gid=GROUP");
	return -EINVAL;
}

int setting_parse_admin(const struct setting *s, void *field)
{
	struct addr_spec *spec = field;
	struct config_global *g = s->base;
	int err = setting_address(s, &s->words.list[0], spec);

	check(spec == &g->admin);
	if (!err && spec->kind != ADDR_UNIX) {
		(void)setting_bad(s, &s->words.list[0], 0, "must be a Unix socket");
		diag_hint(s->diag, spec->kind == ADDR_FD ? "'weir ctl' could not find an inherited one: "
							   "write unix:/run/weir/admin.sock"
							 : "write unix:/run/weir/admin.sock");
		err = -EINVAL;
	}
	if (setting_parse_words(s, 1, IN_ADMIN) != 0)
		return -EINVAL;
	if (validate_count(s, &g->admin_uids, "allow-uid") != 0 ||
	    validate_count(s, &g->admin_gids, "allow-gid") != 0)
		return -EINVAL;
	return !err && spec->addr.un.sun_path[0] == '\0' ? validate_name(s, IN_ADMIN) : err;
}

void setting_print_admin(const void *field, const struct option *option, FILE *out)
{
	const struct config_global *g =
		container_of((const struct addr_spec *)field, struct config_global, admin);

	(void)option; /* there is one row */
	setting_print_address(&g->admin, out);
	setting_print_words(IN_ADMIN, g, out);
}

/* Is this word given for a socket that has no file? */
static int validate_owner(const struct setting *s)
{
	static const char *const keys[] = {"mode", "user", "group"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct word *w = setting_find_word(s->diag->arena, &s->words, IN_STATS_BIND, keys[i]);

		if (w == NULL)
			continue;
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'%s' is for Unix sockets only", keys[i]);
		return -EINVAL;
	}
	return 0;
}

int setting_parse_stats(const struct setting *s, void *field)
{
	struct addr_spec *spec = field;
	const int err = setting_address(s, &s->words.list[0], spec);

	if (setting_parse_words(s, 1, IN_STATS_BIND) != 0 || err)
		return -EINVAL;
	switch (spec->kind) {
	case ADDR_UNIX:
		return spec->addr.un.sun_path[0] == '\0' ? validate_name(s, IN_STATS_BIND) : 0;
	case ADDR_IP:
	case ADDR_ANY:
		return validate_owner(s);
	default:
		(void)setting_bad(s, &s->words.list[0], 0,
				  "must be an IP address with a port, or a Unix socket");
		diag_hint(s->diag, "write 127.0.0.1:8404");
		return -EINVAL;
	}
}

void setting_print_stats(const void *field, const struct option *option, FILE *out)
{
	const struct config_global *g =
		container_of((const struct addr_spec *)field, struct config_global, stats.addr);

	(void)option; /* there is one row */
	setting_print_address(&g->stats.addr, out);
	setting_print_words(IN_STATS_BIND, g, out);
}

bool setting_admin_is_set(const void *field)
{
	const struct addr_spec *spec = field;

	return spec->kind != ADDR_NONE;
}

void setting_print_ids(const void *field, const struct option *option, FILE *out)
{
	const struct config_ids *ids = field;

	(void)option; /* the same for every row */
	for (size_t i = 0; i < ids->count; i++)
		fprintf(out, "%s%u", i > 0 ? "," : "", ids->list[i]);
}

bool setting_ids_are_set(const void *field)
{
	const struct config_ids *ids = field;

	return ids->count > 0;
}
