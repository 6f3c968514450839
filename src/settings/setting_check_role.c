/* SPDX-License-Identifier: MIT
 *
 * setting_check_role.c - the words of checks that speak Redis's or PostgreSQL's protocol: who logs in where,
 * and which role the server must have.
 *
 * Rejects names that cannot be sent, and the words of the other protocol. Main thread.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "setting.h"

/* PostgreSQL has 63, connection poolers have up to 128. */
#define LOGIN_BYTES_MAX 128

int setting_parse_check_login(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *name = arena_strndup(s->diag->arena, w->text, w->len);

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_PGSQL, "'check = pgsql'") != 0)
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
		diag_hint(s->diag, "write the name as PostgreSQL knows it");
		return -EINVAL;
	}
	memcpy(field, &name, sizeof(name));
	return 0;
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
