/* SPDX-License-Identifier: MIT
 *
 * setting_egress.c - `allow-sni` and `allow-to`: which names clients of `server a = sni@443` may ask for, and
 * which networks the names may lead to.
 *
 * Short lists on one line, so that -T can print them as one, or files. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/host_pattern.h"
#include "weir/net/netset.h"
#include "setting.h"

#define NETWORKS_MAX 64

/* Calls `add` for each part of all words, which blanks or commas separate. */
static int each_part(const struct setting *s,
		     int (*add)(const struct setting *s, const struct word *part, void *field), void *field)
{
	int result = 0;

	for (size_t i = 0; i < s->words.count; i++) {
		const struct word *w = &s->words.list[i];

		for (size_t at = 0; at < w->len;) {
			struct word part = word_part(s->diag, w, at, strcspn(w->text + at, ","));

			if (part.len > 0 && add(s, &part, field) != 0)
				result = -EINVAL;
			at += part.len + 1;
		}
	}
	return result;
}

/* ---- names ---- */

static int add_name(const struct setting *s, const struct word *part, void *field)
{
	struct config_names *names = field;

	if (strcmp(part->text, "*") == 0) {
		names->any = true;
		return 0;
	}
	if (strcmp(part->text, "any") == 0 || strcmp(part->text, "none") == 0) {
		diag_error(s->diag, DIAG_BAD_VALUE, part->at,
			   "'%s' is not a name that clients can be sent to", part->text);
		diag_hint(s->diag, "list the names, or write * for any name");
		return -EINVAL;
	}
	return setting_add_name(s, part, names);
}

int setting_parse_egress_names(const struct setting *s, void *field)
{
	struct config_names *names = field;
	size_t bytes = 0;

	*names = (struct config_names){0};
	for (size_t i = 0; i < s->words.count; i++)
		bytes += s->words.list[i].len + 1;
	if (bytes > SETTING_NAMES_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, s->words.list[0].at, "a list of '%s' has at most %d bytes",
			   s->option->key, SETTING_NAMES_BYTES_MAX);
		diag_hint(s->diag, "write them into a file, one per line, and %s = @FILE", s->option->key);
		return -EINVAL;
	}
	return each_part(s, add_name, field);
}

/* " " between two items. */
static const char *between(bool *begun)
{
	const char *text = *begun ? " " : "";

	*begun = true;
	return text;
}

static void print_files(const struct config_list *files, size_t count, bool *begun, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		fputs(between(begun), out);
		setting_print_list(&files[i], out);
	}
}

void setting_print_egress_names(const void *field, const struct option *option, FILE *out)
{
	const struct config_names *names = field;
	bool begun = names->any;

	(void)option; /* there is one row */
	if (names->any)
		fputs("*", out);
	for (size_t i = 0; i < names->count; i++)
		fprintf(out, "%s%s", between(&begun), names->list[i].text);
	print_files(names->files, names->file_count, &begun, out);
}

bool setting_egress_names_are_set(const void *field)
{
	const struct config_names *names = field;

	return names->any || config_lists_names(names);
}

/* ---- networks ---- */

static int add_network(const struct setting *s, const struct word *part, void *field)
{
	return setting_add_network(s, part, field);
}

int setting_parse_egress_networks(const struct setting *s, void *field)
{
	struct config_networks *n = field;
	int err;

	*n = (struct config_networks){0};
	err = each_part(s, add_network, field);
	if (err || n->count + n->file_count <= NETWORKS_MAX)
		return err;
	diag_error(s->diag, DIAG_OUT_OF_RANGE, s->words.list[0].at, "'%s' takes at most %d networks",
		   s->option->key, NETWORKS_MAX);
	diag_hint(s->diag, "write them into a file, one per line, and %s = @FILE", s->option->key);
	return -EINVAL;
}

void setting_print_egress_networks(const void *field, const struct option *option, FILE *out)
{
	const struct config_networks *n = field;
	char buf[NETSET_TEXT_MAX];
	bool begun = false;

	(void)option; /* there is one row */
	for (size_t i = 0; i < n->count; i++)
		fprintf(out, "%s%s", between(&begun), net_prefix_format(&n->list[i], buf));
	print_files(n->files, n->file_count, &begun, out);
}

bool setting_egress_networks_are_set(const void *field)
{
	return config_has_networks(field);
}
