/* SPDX-License-Identifier: MIT
 *
 * setting_owner.c - mode, user and group of a Unix socket: parsed into their field, and printed.
 *
 * Users and groups become numbers here, so -T prints numbers. Rejects names that do not exist on this
 * machine. Any thread.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "weir/config/values.h"
#include "setting.h"

/* Room for what getpwnam_r(3) finds: at first, and at most, for a group with very many members. */
#define FOUND_BYTES	1024u
#define FOUND_BYTES_MAX (4u << 20)

int setting_parse_mode(const struct setting *s, void *field)
{
	int mode = 0;

	if (value_mode(s->words.list[0].text, &mode) != 0) {
		(void)setting_bad(s, &s->words.list[0], 0, "is not an octal mode");
		diag_hint(s->diag, "write an octal mode such as 660");
		return -EINVAL;
	}
	memcpy(field, &mode, sizeof(mode));
	return 0;
}

void setting_print_mode(const void *field, const struct option *option, FILE *out)
{
	int mode;

	(void)option; /* the same for every row */
	memcpy(&mode, field, sizeof(mode));
	fprintf(out, "%03o", (unsigned)mode);
}

bool setting_owner_is_set(const void *field)
{
	int value;

	memcpy(&value, field, sizeof(value));
	return value != -1;
}

/* Reports a name that was not found; `err` is what the search ended with. A search that failed for lack of
 * something has not found that there is none: getpwnam_r(3) names other values that a system may return
 * then. */
static void report_unknown(const struct setting *s, const struct word *w, int err)
{
	const bool user = s->option->type == OPT_USER;

	if (err == EMFILE || err == ENFILE || err == EIO) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "cannot look up the %s '%s': %s",
			   user ? "user" : "group", w->text, strerror(err));
		return;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "there is no %s '%s' on this machine",
		   user ? "user" : "group", w->text);
	if (w->text[0] == '_' || (w->text[0] >= 'a' && w->text[0] <= 'z'))
		diag_hint(s->diag, "create it with '%s %s', or write another name",
			  user ? "useradd --system" : "groupadd --system", w->text);
	else
		diag_hint(s->diag, "write a name, or a number from 0 to %u", UINT32_MAX - 1);
}

static int find_user(const char *name, char *room, size_t size, uint64_t *number)
{
	struct passwd entry, *found = NULL;
	const int err = getpwnam_r(name, &entry, room, size, &found);

	if (found != NULL)
		*number = found->pw_uid;
	return found != NULL ? 0 : err != 0 ? err : ENOENT;
}

static int find_group(const char *name, char *room, size_t size, uint64_t *number)
{
	struct group entry, *found = NULL;
	const int err = getgrnam_r(name, &entry, room, size, &found);

	if (found != NULL)
		*number = found->gr_gid;
	return found != NULL ? 0 : err != 0 ? err : ENOENT;
}

/* 0 or an error number. A reading that was given up may still run beside the next one: what getpwnam(3) finds
 * would be shared by both. */
static int find(const struct setting *s, const char *name, uint64_t *number)
{
	const bool user = s->option->type == OPT_USER;
	int err = ERANGE;

	for (size_t size = FOUND_BYTES; err == ERANGE && size <= FOUND_BYTES_MAX; size *= 4) {
		char *room = arena_alloc(s->diag->arena, size);

		err = user ? find_user(name, room, size, number) : find_group(name, room, size, number);
	}
	if (err == ENOMEM)
		arena_no_memory(s->diag->arena);
	return err;
}

/* uid_t and gid_t are both 32 bits here; (uid_t)-1 means "keep" and cannot be written. */
int setting_parse_id(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	uint64_t number = UINT64_MAX;
	const int err = find(s, w->text, &number);
	uint32_t id;

	if (err && value_number(w->text, &number) != 0)
		number = UINT64_MAX;
	if (number >= UINT32_MAX) {
		report_unknown(s, w, err);
		return -EINVAL;
	}
	id = (uint32_t)number;
	memcpy(field, &id, sizeof(id));
	return 0;
}

/* The name is kept: a process that becomes this user needs the user's groups. */
int setting_parse_account(const struct setting *s, void *field)
{
	const struct option row = {.key = s->option->key,
				   .type = s->option->type == OPT_USER_NAME ? OPT_USER : OPT_GROUP};
	const struct setting account = {
		.diag = s->diag, .option = &row, .words = s->words, .base = s->base};
	uint32_t id;
	const int err = setting_parse_id(&account, &id);

	return err ? err : setting_parse_text(s, field);
}

void setting_print_id(const void *field, const struct option *option, FILE *out)
{
	uint32_t id;

	(void)option; /* the same for every row */
	memcpy(&id, field, sizeof(id));
	fprintf(out, "%u", id);
}
