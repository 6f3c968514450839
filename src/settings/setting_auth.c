/* SPDX-License-Identifier: MIT
 *
 * setting_auth.c - `auth-file`: users of the HTTP endpoint and the hashes of their passwords.
 *
 * One per line, "NAME:HASH", as htpasswd(1) writes them; '#' begins a comment line, and what follows another
 * ':' is ignored. Rejects hashes that are weak or take too long. A message never quotes a line of that file:
 * messages may be logged. Main thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "reading_files.h"
#include "setting.h"
#include "weir/base/check.h"
#include "weir/base/password.h"

#define NAME_BYTES_MAX 63 /* as many as the HTTP endpoint reads of a user's name */

/* The place of a line that is not shown. */
static struct at hide(const struct source *file, size_t line)
{
	file->lines[line] = (struct source_line){"", 0};
	return (struct at){file, (unsigned)line + 1, 1, 0};
}

static int bad_line(const struct setting *s, const struct source *file, size_t line, const char *what,
		    const char *hint)
{
	diag_error(s->diag, DIAG_BAD_VALUE, hide(file, line), "%s", what);
	diag_hint(s->diag, "%s", hint);
	return -EINVAL;
}

static bool has_user(const struct config_auth *auth, const char *name)
{
	for (size_t i = 0; i < auth->count; i++)
		if (strcmp(auth->list[i].name, name) == 0)
			return true;
	return false;
}

static int add_user(const struct setting *s, const struct source *file, size_t line, struct config_auth *auth)
{
	static const char hint[] = "write lines as 'htpasswd -B' makes them: NAME:HASH";
	struct arena *a = s->diag->arena;
	const char *text = file->lines[line].text;
	const size_t name_len = strcspn(text, ":");
	struct config_user user;
	const char *why;

	if (strlen(text) != file->lines[line].len)
		return bad_line(s, file, line, "a NUL byte in a file of users", hint);
	if (name_len == 0 || name_len > NAME_BYTES_MAX || text[name_len] != ':')
		return bad_line(s, file, line, "this line has no name of a user, with at most 63 bytes",
				hint);
	user.name = arena_strndup(a, text, name_len);
	text += name_len + 1;
	user.hash = arena_strndup(a, text, strcspn(text, ": \t"));
	if (has_user(auth, user.name)) {
		diag_error(s->diag, DIAG_DUPLICATE, hide(file, line), "user '%s' is already there",
			   user.name);
		return -EINVAL;
	}
	why = password_refusal(user.hash);
	if (why != NULL) {
		diag_error(s->diag, DIAG_BAD_VALUE, hide(file, line), "the password hash of '%s' %s",
			   user.name, why);
		diag_hint(s->diag, "make another with: htpasswd -B %s %s", file->name, user.name);
		return -EINVAL;
	}
	auth->list = arena_grow(a, auth->list, auth->count, sizeof(*auth->list));
	auth->list[auth->count++] = user;
	return 0;
}

static int add_users(const struct setting *s, const struct source *file, struct config_auth *auth)
{
	const unsigned errors = s->diag->errors;
	int result = 0;

	/* If the file is not of this kind at all, a few messages are enough. */
	for (size_t i = 0; i < file->line_count && s->diag->errors - errors < DIAG_SHOWN_MAX; i++) {
		const char *text = file->lines[i].text;

		if (file->lines[i].len > 0 && text[0] != '#' && add_user(s, file, i, auth) != 0)
			result = -EINVAL;
	}
	if (result == 0 && auth->count == 0) {
		diag_error(s->diag, DIAG_NO_VALUE, s->words.list[0].at, "'%s' names no user", file->name);
		diag_hint(s->diag, "add one with: htpasswd -B %s NAME", file->name);
		result = -EINVAL;
	}
	return result;
}

/* A text that is kept has no permissions: whoever read it from the disk has been warned. */
static void warn_readable(const struct setting *s, const char *path)
{
	const bool on_disk = s->diag->files == NULL || s->diag->files->kept == NULL;
	struct stat st;

	if (!on_disk || stat(path, &st) != 0 || (st.st_mode & S_IROTH) == 0)
		return;
	diag_warning(s->diag, DIAG_EXPOSED, s->words.list[0].at, "every user of this machine can read '%s'",
		     path);
	diag_hint(s->diag, "its hashes can be guessed from: chmod o= %s", path);
}

int setting_parse_auth(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct arena *a = s->diag->arena;
	struct config_auth *auth = field;
	struct source *file;
	int err;

	if (!password_is_built()) {
		diag_error(s->diag, DIAG_NOT_YET, w->at,
			   "'auth-file' is not available: this weir was built without libcrypt");
		diag_hint(s->diag, "build it with libcrypt, or remove the line and restrict 'allow-from'");
		return -EINVAL;
	}
	if (w->len == 0 || w->len > SETTING_TEXT_MAX)
		return setting_bad(s, w, 0, w->len == 0 ? "must name a file" : "is too long");
	file = source_new(a, source_beside(a, w->at.source, w->text));
	file->index = ~0u; /* messages about its lines follow those about the configuration */
	err = reading_files_add(s->diag->files, a, file, true);
	if (err) {
		diag_error(s->diag, DIAG_CANNOT_READ, w->at, "cannot read '%s': %s", file->name,
			   source_why_unread(err));
		diag_hint(s->diag,
			  "make it with: htpasswd -cB %s NAME; the user that weir runs as must be "
			  "allowed to read it",
			  file->name);
		return -EINVAL;
	}
	*auth = (struct config_auth){.file = arena_strndup(a, w->text, w->len)};
	warn_readable(s, file->name);
	return add_users(s, file, auth);
}

void setting_print_auth(const void *field, const struct option *option, FILE *out)
{
	const struct config_auth *auth = field;

	(void)option; /* there is one row */
	words_print_quoted(auth->file, out);
}

bool setting_auth_is_set(const void *field)
{
	const struct config_auth *auth = field;

	return auth->file != NULL;
}
