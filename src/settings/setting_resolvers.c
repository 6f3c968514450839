/* SPDX-License-Identifier: MIT
 *
 * setting_resolvers.c - `resolvers`: the name servers.
 *
 * Rejects names, which could not be resolved, and Unix sockets. Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "setting.h"

/* "10.0.0.2", "10.0.0.2:5353", "fd00::2", "[fd00::2]:5353". */
static int take_resolver(const struct setting *s, const struct word *w, struct addr *out)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	char text[ADDR_TEXT_MAX];
	const bool is_bare = strchr(w->text, ':') == NULL;
	const bool is_six = w->text[0] != '[' && !is_bare && strchr(w->text, ':') != strrchr(w->text, ':');
	const int len = snprintf(text, sizeof(text), "%s%s%s%s", is_six ? "[" : "", w->text,
				 is_six ? "]" : "", is_six || is_bare ? ":53" : "");

	if (len > 0 && (size_t)len < sizeof(text) && addr_parse(text, &spec, NULL, NULL) == 0 &&
	    spec.kind == ADDR_IP) {
		*out = spec.addr;
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'%s' is not a valid address of a name server", w->text);
	diag_hint(s->diag, "write IP addresses, with a port unless it is 53: 10.0.0.2 [fd00::2]:5353");
	return -EINVAL;
}

int setting_parse_resolvers(const struct setting *s, void *field)
{
	struct config_resolvers *r = field;

	*r = (struct config_resolvers){0};
	for (size_t i = 0; i < s->words.count; i++) {
		if (r->count == CONFIG_RESOLVERS_MAX) {
			diag_error(s->diag, DIAG_OUT_OF_RANGE, s->words.list[i].at,
				   "'resolvers' takes at most %d addresses", CONFIG_RESOLVERS_MAX);
			return -EINVAL;
		}
		if (take_resolver(s, &s->words.list[i], &r->list[r->count]) != 0)
			return -EINVAL;
		r->count++;
	}
	return 0;
}

void setting_print_resolvers(const void *field, const struct option *option, FILE *out)
{
	const struct config_resolvers *r = field;
	char text[ADDR_TEXT_MAX];

	(void)option; /* there is one row */
	for (size_t i = 0; i < r->count; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", addr_format(&r->list[i], text));
}

bool setting_resolvers_is_set(const void *field)
{
	const struct config_resolvers *r = field;

	return r->count > 0;
}
