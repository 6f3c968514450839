/* SPDX-License-Identifier: MIT
 *
 * setting_set_line.c - `servers`: a name, whose addresses become servers, with the words of each of them.
 *
 * Rejects anything that is not a name to look up. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"

static const char dns[] = "dns://", srv[] = "srv://";

/* The longest name in DNS. */
#define NAME_MAX_BYTES 253

static bool starts_with(const struct word *w, const char *with)
{
	return strncmp(w->text, with, strlen(with)) == 0;
}

static struct word behind(const struct setting *s, const struct word *w, const char *prefix)
{
	const size_t len = strlen(prefix);

	return word_part(s->diag, w, len, w->len - len);
}

static int refuse_ip(const struct setting *s, const struct word *w)
{
	diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'%s' is not a name to look up", w->text);
	diag_hint(s->diag, "for one server at an address write: server NAME = HOST:PORT");
	return -EINVAL;
}

/* "app.example.com:80". */
static int take_dns(const struct setting *s, const struct word *w, struct config_server *set)
{
	const struct word name = behind(s, w, dns);

	set->set = CONFIG_SET_DNS;
	if (name.len == 0) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'dns://' needs a name and a port");
		diag_hint(s->diag, "write dns://HOST:PORT");
		return -EINVAL;
	}
	if (setting_address_ports(s, &name, ADDR_PORTS_CLIENT, &set->addr) != 0)
		return -EINVAL;
	if (set->addr.kind != ADDR_NAME)
		return refuse_ip(s, &name);
	if (set->addr.port != 0 || set->addr.client_port)
		return 0;
	diag_error(s->diag, DIAG_BAD_ADDRESS, name.at, "a server needs a port, and 0 is not one");
	return -EINVAL;
}

/* "_http._tcp.example.com". */
static int take_srv(const struct setting *s, const struct word *w, struct config_server *set)
{
	const struct word name = behind(s, w, srv);
	const size_t fine =
		strspn(name.text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	struct word rest;

	set->set = CONFIG_SET_SRV;
	if (name.len == 0 || name.len > NAME_MAX_BYTES) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'srv://' needs a name of at most %d bytes",
			   NAME_MAX_BYTES);
		diag_hint(s->diag, "write srv://_SERVICE._tcp.DOMAIN");
		return -EINVAL;
	}
	if (fine < name.len) {
		rest = word_part(s->diag, &name, fine, 1);
		diag_error(s->diag, DIAG_BAD_ADDRESS, rest.at, "'%s' is not a valid name", name.text);
		diag_hint(s->diag, name.text[fine] == ':' ? "leave out the port: SRV records have their own"
							  : "write srv://_SERVICE._tcp.DOMAIN");
		return -EINVAL;
	}
	set->addr.kind = ADDR_NAME;
	memcpy(set->addr.host, name.text, name.len + 1);
	return 0;
}

static int take_name(const struct setting *s, struct config_server *set)
{
	const struct word *w = &s->words.list[0];

	if (starts_with(w, dns))
		return take_dns(s, w, set);
	if (starts_with(w, srv))
		return take_srv(s, w, set);
	set->set = CONFIG_SET_DNS; /* for the words that follow */
	diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'%s' is not dns://HOST:PORT or srv://NAME", w->text);
	diag_hint(s->diag, "for one server write: server NAME = HOST:PORT");
	return -EINVAL;
}

/* Words that a line has for one server, or that the records of a name say. */
static int validate_words(const struct setting *s, const struct config_server *set)
{
	const struct word *weight = setting_find_word(s->diag->arena, &s->words, IN_SERVER, "weight");

	if (set->set != CONFIG_SET_SRV || weight == NULL || set->weight == 1)
		return 0; /* -T prints the default */
	diag_error(s->diag, DIAG_CONFLICT, weight->at, "the weights of a srv:// set come from its records");
	diag_hint(s->diag, "leave it out");
	return -EINVAL;
}

int setting_parse_servers(const struct setting *s, struct config_server *set)
{
	int err;

	setting_defaults(s->diag->arena, IN_SERVER | IN_SET, set);
	err = take_name(s, set);
	if (setting_parse_server_words(s, set) != 0)
		err = -EINVAL;
	return validate_words(s, set) != 0 ? -EINVAL : err;
}

void setting_print_set(const struct config_server *set, FILE *out)
{
	char text[ADDR_TEXT_MAX];

	check(set->set != CONFIG_SET_NONE);
	if (set->set == CONFIG_SET_DNS)
		fprintf(out, "%s%s", dns, addr_spec_format(&set->addr, text));
	else
		fprintf(out, "%s%s", srv, set->addr.host);
}
