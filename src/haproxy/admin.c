/* SPDX-License-Identifier: MIT
 *
 * admin.c - 'stats socket' over TCP: a section of its own leads to the admin socket.
 *
 * weir's admin socket is a Unix one. It takes weir for a user who may do everything, so only a line of level
 * admin is carried: at another level, clients could do more than before. Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/config/options.h"

static bool may_do_everything(const struct old_line *line)
{
	for (size_t i = 3; i + 1 < line->count; i++)
		if (strcmp(line->words[i], "level") == 0)
			return strcmp(line->words[i + 1], "admin") == 0;
	return false; /* operator */
}

/* Is there something to administer? */
static bool forwards(const struct haproxy *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->proxies[i]->out != NULL)
			return true;
	return false;
}

void haproxy_admin_listen(struct haproxy *h)
{
	struct ini_section *global = ini_only(h->ini, IN_GLOBAL), *s = NULL;

	for (size_t i = 0; i < h->tcp_sockets.count; i++) {
		struct old_line *line = h->tcp_sockets.list[i];

		if (!may_do_everything(line) || !forwards(h)) {
			old_set(h->arena, line, OLD_LOST,
				"weir has no admin socket over TCP: write admin-socket = unix:%s; [stats] "
				"has what only reads",
				WORK_ADMIN_SOCKET);
			continue;
		}
		if (ini_find(global, "admin-socket") == NULL)
			ini_add(h->ini, global, line, "admin-socket", "unix:%s", WORK_ADMIN_SOCKET);
		if (s == NULL) {
			s = ini_section(h->ini, IN_LISTEN, haproxy_new_name(h, "admin"), line);
			ini_add(h->ini, s, line, "server socket", "unix:%s", WORK_ADMIN_SOCKET);
		}
		ini_add(h->ini, s, line, "bind", "%s",
			haproxy_address(h->arena, old_word(line, 2), true));
		old_set(h->arena, line, OLD_DIFFERENT,
			"[listen %s] leads to weir's admin socket: whoever gets there may do everything, as "
			"behind HAProxy; leave it out if nothing needs it", s->name);
	}
}
