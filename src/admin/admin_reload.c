/* SPDX-License-Identifier: MIT
 *
 * admin_reload.c - `reload` and its like: wishes that the daemon answers later, in parts.
 *
 * Adds to the answer of a client and wakes it, but writes nothing: the loop does that afterwards. So no
 * client is closed, and no wish is forgotten, while the reload answers. Main thread.
 */
#include "admin_reload.h"

#include <ev.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "admin_client.h"

static void drop_path(struct client *c)
{
	free((char *)(uintptr_t)c->wish.path); /* of admin_read_wish() */
	c->wish.path = NULL;
}

static void on_reload_answer(struct reload_wish *wish, const char *text, bool last)
{
	struct client *c = container_of(wish, struct client, wish);

	check(c->asker != NULL);
	text_add(&c->answer, text, strlen(text));
	if (last) {
		c->asker = NULL;
		drop_path(c);
	}
	if (c->state == CLIENT_RELOADING)
		ev_feed_event(c->admin->loop, &c->io, EV_CUSTOM);
}

/* What is not done if nobody takes the wish. */
static const char *verb(enum reload_kind kind)
{
	static const char *const verbs[] = {
		[WISH_RELOAD] = "reloaded",
		[WISH_PLAN] = "planned",
		[WISH_ROLLBACK] = "rolled back",
		[WISH_CONFIRM] = "confirmed",
	};

	return verbs[kind];
}

void admin_reload_ask(struct client *c)
{
	const struct admin_context *ctx = c->admin->ctx;

	check(c->asker == NULL);
	c->wish = c->question.wish;
	c->question.wish.path = NULL;
	if (c->wish.path != NULL && !c->peer.trusted) {
		text_printf(&c->answer, "not planned: only root and weir's own user may have another file "
					"read; leave out the file\n");
		drop_path(c);
		return;
	}
	if (ctx->reload == NULL) {
		drop_path(c);
		text_printf(&c->answer, "not %s: the daemon takes no reload in its state '%s'\n",
			    verb(c->wish.kind), daemon_state_word(ctx->state));
		return;
	}
	list_init(&c->wish.link);
	c->wish.answer = on_reload_answer;
	c->asker = ctx->reload;
	c->asker->ask(c->asker->arg, &c->wish);
}

void admin_reload_forget(struct client *c)
{
	const struct reload_asker *asker = c->asker;

	c->asker = NULL;
	if (asker != NULL)
		asker->forget(asker->arg, &c->wish);
	drop_path(c);
}
