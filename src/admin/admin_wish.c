/* SPDX-License-Identifier: MIT
 *
 * admin_wish.c - the words of the commands that are wishes: `reload`, `plan`, `rollback`, `confirm`.
 *
 * Reads them only; admin_reload.c passes the wish on. Also `show generations`, whose answer comes from the
 * same place. Main thread.
 */
#include "admin_wish.h"

#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/config/values.h"

#define CONFIRM_WORD "confirm="

bool admin_is_wish(enum admin_verdict verdict)
{
	return verdict >= ADMIN_RELOAD && verdict <= ADMIN_CONFIRM;
}

/* "[wait] [confirm=TIME [hold]]", in any order; nobody waits for two ends. */
static bool read_reload(const struct admin_call *c, struct reload_wish *wish)
{
	for (unsigned i = 0; i < c->arg_count; i++) {
		const char *word = c->args[i];

		if (strcmp(word, "wait") == 0)
			wish->wait = true;
		else if (strcmp(word, "hold") == 0)
			wish->hold = true;
		else if (strncmp(word, CONFIRM_WORD, strlen(CONFIRM_WORD)) != 0 ||
			 value_duration(word + strlen(CONFIRM_WORD), &wish->confirm_ns) != 0 ||
			 wish->confirm_ns < WISH_CONFIRM_MIN_NS || wish->confirm_ns > WISH_CONFIRM_MAX_NS)
			return false;
	}
	return !wish->hold || (wish->confirm_ns != 0 && !wish->wait);
}

/* "[FILE]". A plan without a file is that of weir's own. */
static bool read_plan(const struct admin_call *c, struct reload_wish *wish)
{
	size_t size;
	char *path;

	wish->kind = WISH_PLAN;
	if (c->arg_count == 0)
		return true;
	size = strlen(c->args[0]) + 1;
	path = malloc(size);
	if (path == NULL) {
		admin_refuse(c, NULL, "out of memory");
		return false;
	}
	memcpy(path, c->args[0], size);
	wish->path = path;
	return true;
}

bool admin_read_wish(const struct admin_call *c, enum admin_verdict verdict, struct reload_wish *wish)
{
	check(admin_is_wish(verdict));
	wish->uid = c->peer->uid;
	wish->json = c->json != NULL;
	switch (verdict) {
	case ADMIN_RELOAD:
		wish->kind = WISH_RELOAD;
		return read_reload(c, wish);
	case ADMIN_ROLLBACK:
		wish->kind = WISH_ROLLBACK;
		return c->arg_count == 0 || (value_number(c->args[0], &wish->to) == 0 && wish->to > 0);
	case ADMIN_CONFIRM:
		wish->kind = WISH_CONFIRM;
		wish->file = c->arg_count > 0;
		return !wish->file || strcmp(c->args[0], "file") == 0;
	default:
		return read_plan(c, wish);
	}
}

void admin_show_generations(const struct admin_call *c)
{
	const struct reload_asker *reload = c->ctx->reload;

	if (reload == NULL) {
		admin_refuse(c, NULL, "there are no generations in the state '%s'",
			     daemon_state_word(c->ctx->state));
		return;
	}
	reload->show(reload->arg, c->out, c->json);
	if (c->json != NULL)
		text_add(c->out, "\n", 1);
}
