/* SPDX-License-Identifier: MIT
 *
 * server_view.h - one server of a running weir as `top` shows it, with its trends and its last changes.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_SERVER_VIEW_H
#define WEIR_CLI_SERVER_VIEW_H

#include <stdbool.h>

#include "view.h"

/* Its changes: the answer to `show servers history`, or the reason why there is none. */
struct server_view {
	struct text answer;
};

void server_view_init(struct server_view *v);
void server_view_free(struct server_view *v);
/* Asks for the changes of a server: 0 or -errno. Frees `v` first. A refusal is an answer. */
int server_view_take(struct server_view *v, const struct addr_spec *spec, const struct view_choice *choice,
		     int wait_ms);
/* Appends an empty line, the name of the server, what is known of it now, and its changes, newest first. With
 * `before` (or NULL) it shows rates. Without such a server in `now` it says so. */
void server_view_show(const struct server_view *v, const struct view *now, const struct view *before,
		      const struct view_choice *choice, const struct view_style *style, struct text *out);

#endif
