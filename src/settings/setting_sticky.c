/* SPDX-License-Identifier: MIT
 *
 * setting_sticky.c - `sticky`: whether clients keep their server, for how long, and how many.
 *
 * Rejects words behind `off`. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

static const char *const words[] = {
	[CONFIG_STICKY_OFF] = "off",
	[CONFIG_STICKY_SRC] = "src",
	[CONFIG_STICKY_DST] = "dst",
};

/* What HAProxy and others stick on. */
static const char *hint_for(const char *text)
{
	static const char rdp[] = "write persist = rdp, and sniff = rdp in the frontend: the client's cookie "
				  "names its server";
	static const struct {
		const char *start, *hint;
	} rows[] = {
		{"src,", "write src: an IPv4 address is one client, and so is the /64 of an IPv6 one"},
		{"src", "write its words behind it, with blanks: sticky = src expire=30m size=100k"},
		{"dst,", "write dst: the clients of one address, which is a whole one, have one server"},
		{"dst_port", "write dst: the clients of one address have one server, whatever the port"},
		{"dst", "write its words behind it, with blanks: sticky = dst expire=365d size=100"},
		{"on", "write sticky = src: clients are told apart by their address"},
		{"ip", "write sticky = src: clients are told apart by their address"},
		{"source", "write sticky = src"},
		{"expire", "write src first: sticky = src expire=30m"},
		{"size", "write src first: sticky = src size=100k"},
		{"cookie", "weir does not read HTTP: write sticky = src"},
		{"hdr", "weir does not read HTTP: write sticky = src"},
		{"req.cook", "weir does not read HTTP: write sticky = src"},
		{"rdp_cookie", rdp},
		{"req.rdp_cookie", rdp},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strncmp(text, rows[i].start, strlen(rows[i].start)) == 0)
			return rows[i].hint;
	return "write one of off, src, dst";
}

static int take_kind(const struct setting *s, const struct word *w, struct config_sticky *k)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(w->text, words[i]) != 0)
			continue;
		k->by = (enum config_sticky_by)i;
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' cannot be '%s'", s->option->key, w->text);
	diag_hint(s->diag, "%s", hint_for(w->text));
	return -EINVAL;
}

int setting_parse_sticky(const struct setting *s, void *field)
{
	struct config_sticky k = {.by = CONFIG_STICKY_OFF};
	struct setting rest = *s;
	int err = take_kind(s, &s->words.list[0], &k);

	if (err)
		return err;
	if (k.by == CONFIG_STICKY_OFF && s->words.count > 1)
		return setting_bad(s, &s->words.list[1], 0, "is off and takes no options");
	if (k.by != CONFIG_STICKY_OFF)
		setting_defaults(s->diag->arena, IN_STICKY, &k);
	rest.base = &k;
	if (setting_parse_words(&rest, 1, IN_STICKY) != 0)
		return -EINVAL;
	memcpy(field, &k, sizeof(k));
	return 0;
}

void setting_print_sticky(const void *field, const struct option *option, FILE *out)
{
	const struct config_sticky *k = field;

	(void)option; /* there is one row */
	fputs(words[k->by], out);
	if (k->by != CONFIG_STICKY_OFF)
		setting_print_words(IN_STICKY, k, out);
}
