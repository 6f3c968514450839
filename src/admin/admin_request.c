/* SPDX-License-Identifier: MIT
 *
 * admin_request.c - what a client has sent and has not been answered yet: lines.
 *
 * Main thread.
 */
#include "admin_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

void admin_request_init(struct admin_request *r)
{
	r->bytes = r->small;
	r->room = ADMIN_REQUEST_SMALL;
	r->len = 0;
	r->line_len = 0;
}

void admin_request_free(struct admin_request *r)
{
	if (r->bytes != r->small)
		free(r->bytes);
	admin_request_init(r);
}

int admin_request_make_room(struct admin_request *r)
{
	char *bytes;

	check(r->len < ADMIN_REQUEST_MAX);
	if (r->len < r->room)
		return 0;
	check(r->bytes == r->small);
	bytes = malloc(ADMIN_REQUEST_MAX + 1);
	if (bytes == NULL)
		return -ENOMEM;
	memcpy(bytes, r->bytes, r->len);
	r->bytes = bytes;
	r->room = ADMIN_REQUEST_MAX;
	return 0;
}

char *admin_request_find_end(const struct admin_request *r)
{
	return memchr(r->bytes, '\n', r->len);
}

bool admin_request_take_line(struct admin_request *r, char *end)
{
	*end = '\0';
	r->line_len = (size_t)(end - r->bytes);
	if (r->line_len < r->len)
		r->line_len++; /* its newline */
	return strlen(r->bytes) == (size_t)(end - r->bytes);
}

void admin_request_drop_line(struct admin_request *r)
{
	check(r->line_len <= r->len);
	r->len -= r->line_len;
	memmove(r->bytes, r->bytes + r->line_len, r->len);
	r->line_len = 0;
	if (r->bytes == r->small || r->len > ADMIN_REQUEST_SMALL)
		return;
	memcpy(r->small, r->bytes, r->len);
	free(r->bytes);
	r->bytes = r->small;
	r->room = ADMIN_REQUEST_SMALL;
}
