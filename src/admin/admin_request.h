/* SPDX-License-Identifier: MIT
 *
 * admin_request.h - what a client has sent and has not been answered yet: lines.
 *
 * Most requests are short, so the room for a long one is there only while it is needed. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_REQUEST_H
#define WEIR_ADMIN_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/admin/admin.h"

#define ADMIN_REQUEST_SMALL 1024

struct admin_request {
	char *bytes; /* `small`, or owns; one more than `room` */
	size_t len;
	size_t room;
	size_t line_len; /* the line being answered, including its newline */
	char small[ADMIN_REQUEST_SMALL + 1];
};

void admin_request_init(struct admin_request *r);
void admin_request_free(struct admin_request *r);
/* Makes room for more bytes behind `len`, which is below ADMIN_REQUEST_MAX. 0 or -ENOMEM. */
int admin_request_make_room(struct admin_request *r);
/* The newline at the end of the first line; NULL if there is none yet. */
char *admin_request_find_end(const struct admin_request *r);
/* Ends the first line at `end`, its newline or the end of the request, with a NUL. False if the line has one
 * already. */
bool admin_request_take_line(struct admin_request *r, char *end);
/* Forgets the line that was taken. */
void admin_request_drop_line(struct admin_request *r);

#endif
