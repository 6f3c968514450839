/* SPDX-License-Identifier: MIT
 *
 * admin_reload.h - `reload` and its like: wishes that the daemon answers later, in parts.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_RELOAD_H
#define WEIR_ADMIN_ADMIN_RELOAD_H

struct client;

/* Passes the wish of the client's question on. Its answer is appended to `c->answer`; `c->asker` is not NULL
 * until the answer is complete. If nobody takes wishes now, the answer says so at once. */
void admin_reload_ask(struct client *c);
/* No answer any more: the client has gone, or there is no memory for it. Harmless without a wish. */
void admin_reload_forget(struct client *c);

#endif
