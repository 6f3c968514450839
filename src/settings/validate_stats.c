/* SPDX-License-Identifier: MIT
 *
 * validate_stats.c - validates [stats] as a whole.
 *
 * Warns about lines without effect, and about passwords that the network can read. Main thread.
 */
#include "build.h"

#include "weir/base/check.h"

static const struct entry *line_of(const struct build *b, const char *key)
{
	return b->stats_from[option_find(IN_STATS, key).option - options];
}

static void no_effect(struct build *b, const char *key)
{
	const struct entry *line = line_of(b, key);

	if (line == NULL)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, line->key_at, "'%s' has no effect: [stats] has no 'bind'", key);
	diag_hint(b->diag, "add a line such as: bind = 127.0.0.1:8404");
}

static bool is_in_the_open(const struct addr_spec *spec)
{
	return spec->kind == ADDR_ANY || (spec->kind == ADDR_IP && !addr_is_loopback(&spec->addr));
}

void build_validate_stats(struct build *b)
{
	const struct config_stats *s = &b->global.stats;

	if (b->stats_from == NULL)
		return;
	/* A 'bind' that could not be read has been reported. */
	if (b->stats_at.source == NULL) {
		no_effect(b, "allow-from");
		no_effect(b, "auth-file");
		if (s->per_server_histograms)
			no_effect(b, "per-server-histograms");
		return;
	}
	if (s->auth.file == NULL || !is_in_the_open(&s->addr))
		return;
	diag_warning(b->diag, DIAG_EXPOSED, b->stats_at,
		     "passwords for this address cross the network as plain text");
	diag_hint(b->diag, "write bind = 127.0.0.1:%u, behind a program that speaks TLS", s->addr.port);
}
