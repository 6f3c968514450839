/* SPDX-License-Identifier: MIT
 *
 * http_none.c - in place of http.c in a build without libmicrohttpd: there is no HTTP server.
 */
#include "http.h"

#include <errno.h>
#include <stddef.h>

bool web_is_built(void)
{
	return false;
}

struct http *http_new(struct ev_loop *loop, const struct http_owner *owner, int *err)
{
	(void)loop;
	(void)owner;
	*err = -ENOSYS;
	return NULL;
}

void http_free(struct http *h)
{
	(void)h;
}

void http_take(struct http *h, int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)h;
	(void)fd;
	(void)sa;
	(void)len;
}

bool http_is_full(const struct http *h)
{
	(void)h;
	return true;
}
