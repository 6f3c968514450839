/* SPDX-License-Identifier: MIT
 *
 * setting_observe.c - `observe`: what failed connects of clients mean for a server.
 *
 * Rejects words behind `off`. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

static const char *const words[] = {
	[CONFIG_OBSERVE_OFF] = "off",
	[CONFIG_OBSERVE_CONNECT] = "connect",
};

static int take_kind(const struct setting *s, const struct word *w, struct config_observing *o)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(w->text, words[i]) != 0)
			continue;
		o->what = (enum config_observe)i;
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' cannot be '%s'", s->option->key, w->text);
	diag_hint(s->diag, "write one of off, connect");
	return -EINVAL;
}

int setting_parse_observe(const struct setting *s, void *field)
{
	struct config_observing o = {.what = CONFIG_OBSERVE_OFF};
	struct setting rest = *s;
	int err = take_kind(s, &s->words.list[0], &o);

	if (err)
		return err;
	if (o.what == CONFIG_OBSERVE_OFF && s->words.count > 1)
		return setting_bad(s, &s->words.list[1], 0, "is off and takes no options");
	setting_defaults(s->diag->arena, IN_OBSERVE, &o);
	rest.base = &o;
	if (setting_parse_words(&rest, 1, IN_OBSERVE) != 0)
		return -EINVAL;
	memcpy(field, &o, sizeof(o));
	return 0;
}

void setting_print_observe(const void *field, const struct option *option, FILE *out)
{
	const struct config_observing *o = field;

	(void)option; /* there is one row */
	fputs(words[o->what], out);
	if (o->what != CONFIG_OBSERVE_OFF)
		setting_print_words(IN_OBSERVE, o, out);
}
