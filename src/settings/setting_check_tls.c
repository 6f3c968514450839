/* SPDX-License-Identifier: MIT
 *
 * setting_check_tls.c - the words of checks over TLS: the server's name, protocols, and whom to believe.
 *
 * Reads the certificates to trust, so that a check opens no file. Rejects what this build cannot do, by name.
 * Main thread, or that of a reading.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/copy.h"
#include "weir/net/tls_trust.h"
#include "reading_files.h"
#include "setting.h"

/* What a ClientHello has room for. */
#define ALPN_BYTES_MAX 200

static bool is_https(const struct config_check *c)
{
	return c->kind == CONFIG_CHECK_HTTP && c->tls;
}

int setting_parse_check_sni(const struct setting *s, void *field)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:";
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *name = arena_strndup(s->diag->arena, w->text, w->len);

	if (setting_validate_kind(s, is_https(c) || c->kind == CONFIG_CHECK_TLS,
				  "'check = https' and 'check = tls'") != 0)
		return -EINVAL;
	if (strspn(name, allowed) != w->len || w->len > 253) {
		(void)setting_bad(s, w, 0, "is not a server name");
		diag_hint(s->diag, "write the name or address in the server's certificate: "
				   "sni=www.example.com");
		return -EINVAL;
	}
	memcpy(field, &name, sizeof(name));
	return 0;
}

int setting_parse_check_alpn(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *list = arena_strndup(s->diag->arena, w->text, w->len);

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_TLS, "'check = tls'") != 0)
		return -EINVAL;
	if (w->len > ALPN_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, w->at, "'alpn' has at most %d bytes", ALPN_BYTES_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i <= w->len; i++) {
		const bool empty = list[i] == ',' || list[i] == '\0';

		if (!(empty && (i == 0 || list[i - 1] == ',')) &&
		    (list[i] == '\0' || (list[i] > 0x20 && list[i] != 0x7f)))
			continue;
		(void)setting_bad(s, w, i < w->len ? i : 0, "is not a list of protocols");
		diag_hint(s->diag, "write alpn=h2,http/1.1");
		return -EINVAL;
	}
	memcpy(field, &list, sizeof(list));
	return 0;
}

/* ---- whom to believe ---- */

static int not_built(const struct setting *s, const struct word *w, const char *what)
{
	diag_error(s->diag, DIAG_NOT_YET, w->at, "'%s' needs OpenSSL, which this weir is built without",
		   what);
	diag_hint(s->diag, "build with -Dtls=enabled, or write check = tls, which looks at no certificate");
	return -EINVAL;
}

static void cannot_trust(const struct setting *s, const struct word *w, const char *file, const char *why)
{
	diag_error(s->diag, DIAG_CANNOT_READ, w->at, "cannot use the certificates in '%s': %s", file, why);
}

/* Keeps them as long as what is read. */
static int take_trust(const struct setting *s, struct config_check *c, const struct word *w, const char *file,
		      const char *text, size_t len)
{
	struct tls_trust **room = config_trust_room(s->diag->arena); /* first: it may jump */
	char why[TLS_TRUST_WHY_MAX];

	*room = tls_trust_make(text, len, c->verify == CONFIG_CHECK_VERIFY_FILE, why);
	if (*room == NULL) {
		cannot_trust(s, w, file, why);
		diag_hint(s->diag, "verify=FILE names a file of certificates in PEM format");
		return -EINVAL;
	}
	c->trust = *room;
	return 0;
}

static const char *join_lines(struct arena *a, const struct source *file, size_t *len)
{
	char *text, *at;

	*len = 0;
	for (size_t i = 0; i < file->line_count; i++)
		*len += file->lines[i].len + 1;
	text = at = arena_alloc(a, *len + 1);
	for (size_t i = 0; i < file->line_count; i++) {
		memcpy(at, file->lines[i].text, file->lines[i].len);
		at += file->lines[i].len;
		*at++ = '\n';
	}
	return text;
}

static int trust_file(const struct setting *s, struct config_check *c, const struct word *w)
{
	struct arena *a = s->diag->arena;
	struct source *file = source_new(a, source_beside(a, w->at.source, w->text));
	const int err = reading_files_add(s->diag->files, a, file, true);
	const char *text;
	size_t len;

	c->verify = CONFIG_CHECK_VERIFY_FILE;
	c->ca_file = arena_printf(a, "%s", file->name);
	if (err) {
		cannot_trust(s, w, file->name, source_why_unread(err));
		diag_hint(s->diag, "write verify=system, verify=none, or verify=FILE with certificates in "
				   "PEM format");
		return -EINVAL;
	}
	text = join_lines(a, file, &len);
	return take_trust(s, c, w, file->name, text, len);
}

/* Not kept with the text of the configuration: it is the machine's. */
static int trust_system(const struct setting *s, struct config_check *c, const struct word *w)
{
	const char *file = tls_system_file();
	char *text = NULL;
	size_t len = 0;
	int err;

	c->verify = CONFIG_CHECK_VERIFY_SYSTEM;
	if (file == NULL) {
		diag_error(s->diag, DIAG_CANNOT_READ, w->at,
			   "there are no certificates to trust on this machine");
		diag_hint(s->diag, "install ca-certificates, or write verify=FILE or verify=none");
		return -EINVAL;
	}
	err = source_read_file(s->diag->arena, file, true, &text, &len);
	if (err) {
		cannot_trust(s, w, file, source_why_unread(err));
		diag_hint(s->diag, "these are the certificates of the system; write verify=FILE or "
				   "verify=none to do without them");
		return -EINVAL;
	}
	return take_trust(s, c, w, file, text, len);
}

int setting_parse_check_verify(const struct setting *s, void *field)
{
	struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];

	check(field == &c->verify);
	if (setting_validate_kind(s, is_https(c) || c->kind == CONFIG_CHECK_TLS,
				  "'check = https' and 'check = tls'") != 0)
		return -EINVAL;
	if (!tls_is_built())
		return not_built(s, w, "verify");
	if (strcmp(w->text, "system") == 0)
		return trust_system(s, c, w);
	if (strcmp(w->text, "none") != 0)
		return trust_file(s, c, w);
	c->verify = CONFIG_CHECK_VERIFY_NONE;
	return 0;
}

void setting_print_check_verify(const void *field, const struct option *option, FILE *out)
{
	const struct config_check *c =
		container_of((const enum config_check_verify *)field, struct config_check, verify);
	bool like_word;

	(void)option; /* there is one row */
	if (c->verify != CONFIG_CHECK_VERIFY_FILE) {
		fputs(c->verify == CONFIG_CHECK_VERIFY_NONE ? "none" : "system", out);
		return;
	}
	like_word = strcmp(c->ca_file, "none") == 0 || strcmp(c->ca_file, "system") == 0;
	if (like_word)
		fputs("./", out);
	words_print_quoted(c->ca_file, out);
}

int setting_finish_check_tls(const struct setting *s, struct config_check *c)
{
	const struct word *w = &s->words.list[0];

	if (c->kind == CONFIG_CHECK_TLS)
		c->tls = c->verify != CONFIG_CHECK_VERIFY_HELLO;
	if (!c->tls)
		return 0;
	if (!tls_is_built())
		return not_built(s, w, "check = https");
	return c->verify == CONFIG_CHECK_VERIFY_HELLO ? trust_system(s, c, w) : 0;
}
