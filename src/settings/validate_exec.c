/* SPDX-License-Identifier: MIT
 *
 * validate_exec.c - validates `check = exec` and `exec-checks`: who may have a program run, and which.
 *
 * A program is allowed by the files that the command line names, not by those that they include: others may
 * be able to add to these. It is looked at where it is, at each reading from the disk. A text that was kept
 * has been judged before, and a rollback must not fail: the program is looked at again before it runs. Main
 * thread, or that of a reading.
 */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/program.h"
#include "weir/config/values.h"
#include "build.h"
#include "reading_files.h"

#define FOUND_BYTES 16384

static size_t row_of(unsigned section, const char *key)
{
	return (size_t)(option_find(section, key).option - options);
}

/* The line of [defaults] that sets `check`. */
static const struct entry *check_of_defaults(const struct build *b)
{
	const struct section *s = document_find(b->doc, IN_DEFAULTS, NULL);

	for (const struct entry *e = s != NULL ? s->first : NULL; e != NULL; e = e->next)
		if (option_find(IN_DEFAULTS, e->key).option == &options[row_of(IN_DEFAULTS, "check")])
			return e;
	return NULL;
}

/* The user that will look at the program: the one that a daemon of root becomes, or who we are. */
static uid_t runner(const struct build *b)
{
	const char *name = b->global.user;
	struct passwd entry, *found = NULL;
	uint64_t number;
	char *room;

	if (geteuid() != 0 || name == NULL)
		return geteuid();
	room = arena_alloc(b->diag->arena, FOUND_BYTES);
	if (getpwnam_r(name, &entry, room, FOUND_BYTES, &found) == 0 && found != NULL)
		return found->pw_uid;
	return value_number(name, &number) == 0 && number < UINT32_MAX ? (uid_t)number : 0;
}

static void validate_where(struct build *b)
{
	const struct entry *e =
		b->global_from != NULL ? b->global_from[row_of(IN_GLOBAL, "exec-checks")] : NULL;

	if (e == NULL || !e->key_at.source->found || b->global.exec_checks == 0)
		return;
	diag_error(b->diag, DIAG_WRONG_SECTION, e->key_at,
		   "'exec-checks' does not count here: no included file may allow programs");
	diag_hint(b->diag, "write it in a file that the command line names, or as -o global.exec-checks=%u",
		  b->global.exec_checks);
}

static void validate_program(struct build *b, const struct entry *e, const struct config_check *c)
{
	char why[PROGRAM_WHY_MAX];
	int err;

	if (b->global.exec_checks == 0) {
		diag_error(b->diag, DIAG_MISSING, e->value_at,
			   "'check = exec' runs programs, which 'exec-checks' in [global] does not allow");
		diag_hint(b->diag, "write exec-checks = 4 in [global]: so many of them may run at once");
	}
	if (b->diag->files != NULL && b->diag->files->kept != NULL)
		return;
	err = program_look(c->program, runner(b), why, sizeof(why));
	if (err == 0)
		return;
	diag_error(b->diag, DIAG_BAD_VALUE, e->value_at,
		   "the program cannot be run: %s", why);
	if (err == -EPERM)
		diag_hint(b->diag, "nobody but root and the user that weir runs as may be able to write to "
				   "the program or a folder above it");
	else
		diag_hint(b->diag, "write the absolute path of an executable file");
}

static bool is_exec(const struct config_check *c)
{
	return c->kind == CONFIG_CHECK_EXEC;
}

void build_validate_exec(struct build *b)
{
	const struct entry *defaults = check_of_defaults(b);

	validate_where(b);
	if (is_exec(&b->defaults.check) && defaults != NULL)
		validate_program(b, defaults, &b->defaults.check);
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];
		const struct entry *own = p->from[row_of(IN_BACKEND, "check")];

		if (own != NULL && is_exec(&p->set.check))
			validate_program(b, own, &p->set.check);
	}
}
