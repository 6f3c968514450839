/* SPDX-License-Identifier: MIT
 *
 * admin_reload.c - the command `reload`: a wish that the daemon answers later, in parts.
 *
 * Adds to the answer of a client and wakes it, but writes nothing: the loop does that afterwards. So no
 * client is closed, and no wish is forgotten, while the reload answers. Main thread.
 */
#include "admin_reload.h"

#include <ev.h>
#include <string.h>

#include "weir/base/check.h"
#include "admin_client.h"

static void on_reload_answer(struct reload_wish *wish, const char *text, bool last)
{
	struct client *c = container_of(wish, struct client, wish);

	check(c->asker != NULL);
	text_add(&c->answer, text, strlen(text));
	if (last)
		c->asker = NULL;
	if (c->state == CLIENT_RELOADING)
		ev_feed_event(c->admin->loop, &c->io, EV_CUSTOM);
}

void admin_reload_ask(struct client *c, bool wait)
{
	const struct admin_context *ctx = c->admin->ctx;

	check(c->asker == NULL);
	if (ctx->reload == NULL) {
		text_printf(&c->answer, "not reloaded: the daemon takes no reload in its state '%s'\n",
			    daemon_state_word(ctx->state));
		return;
	}
	list_init(&c->wish.link);
	c->wish.wait = wait;
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
}
