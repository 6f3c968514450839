/* SPDX-License-Identifier: MIT
 *
 * control_socket.c - the private control socket: where a daemon listens for commands of its own operator.
 *
 * Knows the places and opens nothing. Any thread.
 */
#include "weir/admin/control_socket.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

/* Sets the name of `at`, whose first byte may be a NUL instead of the first of `text`. */
static bool set_name(struct addr *at, bool is_abstract, const char *text, size_t len)
{
	if (len == 0 || len >= sizeof(at->un.sun_path))
		return false;
	memcpy(at->un.sun_path, text, len);
	if (is_abstract)
		at->un.sun_path[0] = '\0';
	at->len = is_abstract ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len) : sizeof(at->un);
	return true;
}

bool control_socket_address(enum control_place place, const struct control_where *where, struct addr *at)
{
	char name[sizeof(at->un.sun_path) + 1];
	const char *folder = where->runtime_directory;
	int len = 0;

	memset(at, 0, sizeof(*at));
	at->un.sun_family = AF_UNIX;
	if (place == CONTROL_IN_RUNTIME && folder != NULL && folder[0] == '/')
		len = snprintf(name, sizeof(name), "%.*s/%s", (int)strcspn(folder, ":"), folder,
			       CONTROL_SOCKET_NAME);
	else if (place == CONTROL_BESIDE_PID && where->pid_path != NULL)
		len = snprintf(name, sizeof(name), "%s%s", where->pid_path, CONTROL_SOCKET_SUFFIX);
	else if (place == CONTROL_BY_NUMBER)
		len = snprintf(name, sizeof(name), "@weir-%d", (int)where->pid);
	check(len >= 0);
	return set_name(at, place == CONTROL_BY_NUMBER, name, (size_t)len);
}
