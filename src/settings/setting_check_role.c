/* SPDX-License-Identifier: MIT
 *
 * setting_check_role.c - the words of checks that speak the server's own protocol: who logs in where, which
 * role the server must have, and how it is greeted.
 *
 * Rejects names that cannot be sent, and the words of another protocol. Main thread.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "setting.h"

/* PostgreSQL has 63, MySQL 32, MariaDB and connection poolers have up to 128. */
#define LOGIN_BYTES_MAX 128
/* As long as a domain name may be (RFC 5321, 4.5.3.1.2). */
#define HELLO_BYTES_MAX 255

int setting_parse_check_login(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *name = arena_strndup(s->diag->arena, w->text, w->len);
	const bool any = strcmp(s->option->key, "user") == 0;

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_PGSQL || (any && c->kind == CONFIG_CHECK_MYSQL),
				  any ? "'check = pgsql' and 'check = mysql'" : "'check = pgsql'") != 0)
		return -EINVAL;
	if (w->len > LOGIN_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, w->at, "'%s' has at most %d bytes", s->option->key,
			   LOGIN_BYTES_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < w->len; i++) {
		const unsigned char byte = (unsigned char)w->text[i];

		if (byte >= 0x20 && byte != 0x7f)
			continue;
		diag_error(s->diag, DIAG_BAD_VALUE, word_at(w, i), "'%s' contains a control character",
			   s->option->key);
		diag_hint(s->diag, "write the name as the database knows it");
		return -EINVAL;
	}
	memcpy(field, &name, sizeof(name));
	return 0;
}

int setting_take_hello(const struct setting *s, struct config_check *c)
{
	const struct word *verb = &s->words.list[1], *name = verb + 1;

	if (s->words.count < 2 || (strcmp(verb->text, "EHLO") != 0 && strcmp(verb->text, "HELO") != 0))
		return 0;
	if (s->words.count < 3) {
		diag_error(s->diag, DIAG_NO_VALUE, verb->at, "'%s' needs the name of this machine",
			   verb->text);
		diag_hint(s->diag, "write check = smtp %s lb.example.com", verb->text);
		return -EINVAL;
	}
	if (name->len == 0 || name->len > HELLO_BYTES_MAX ||
	    strspn(name->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]") !=
		    name->len) {
		diag_error(s->diag, DIAG_BAD_VALUE, name->at, "'%s' is not a host name", name->text);
		diag_hint(s->diag, "write check = smtp %s lb.example.com, or an address as [192.0.2.1]",
			  verb->text);
		return -EINVAL;
	}
	c->method = arena_strndup(s->diag->arena, verb->text, verb->len);
	c->hello = arena_strndup(s->diag->arena, name->text, name->len);
	return 2;
}

void setting_print_hello(const struct config_check *c, FILE *out)
{
	if (c->hello != NULL)
		fprintf(out, " %s %s", c->method, c->hello);
}

/* The words of a role, for each protocol. */
static const char *const *role_words(enum config_check_kind kind)
{
	static const char *const redis[] = {
		[CONFIG_CHECK_ROLE_PRIMARY] = "master", [CONFIG_CHECK_ROLE_STANDBY] = "replica"};
	static const char *const pgsql[] = {
		[CONFIG_CHECK_ROLE_PRIMARY] = "primary", [CONFIG_CHECK_ROLE_STANDBY] = "standby"};

	return kind == CONFIG_CHECK_REDIS ? redis : pgsql;
}

int setting_parse_check_role(const struct setting *s, void *field)
{
	static const enum config_check_role roles[] = {CONFIG_CHECK_ROLE_PRIMARY, CONFIG_CHECK_ROLE_STANDBY};
	struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	const char *const *words = role_words(c->kind);

	check(field == &c->role);
	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_REDIS || c->kind == CONFIG_CHECK_PGSQL,
				  "'check = redis' and 'check = pgsql'") != 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		if (strcmp(w->text, words[roles[i]]) != 0)
			continue;
		c->role = roles[i];
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'role' of a %s server cannot be '%s'",
		   c->kind == CONFIG_CHECK_REDIS ? "Redis" : "PostgreSQL", w->text);
	diag_hint(s->diag, "write role=%s or role=%s, or leave it out", words[CONFIG_CHECK_ROLE_PRIMARY],
		  words[CONFIG_CHECK_ROLE_STANDBY]);
	return -EINVAL;
}

void setting_print_check_role(const void *field, const struct option *option, FILE *out)
{
	const struct config_check *c =
		container_of((const enum config_check_role *)field, struct config_check, role);

	(void)option; /* there is one row */
	fputs(role_words(c->kind)[c->role], out);
}
