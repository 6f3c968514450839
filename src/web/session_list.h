/* SPDX-License-Identifier: MIT
 *
 * session_list.h - the first SESSION_LIST_MAX sessions of all workers as JSON, as doc/api.md describes them.
 *
 * Asks workers a slice at a time (stats/question.h), and no more once there are enough. Main thread.
 */
#ifndef WEIR_WEB_SESSION_LIST_H
#define WEIR_WEB_SESSION_LIST_H

#include <stdbool.h>

#include "weir/base/json.h"
#include "weir/base/text.h"
#include "weir/stats/question.h"

#define SESSION_LIST_MAX 1000u

struct session_list {
	struct question question;
	struct text text; /* owns */
	struct json json;
	unsigned count;
	void (*done)(void *arg); /* session_list_take() has an answer */
	void *arg;
};

void session_list_init(struct session_list *l, struct stats *stats, void (*done)(void *arg), void *arg);
/* Ends it without an answer. */
void session_list_free(struct session_list *l);
/* Begins a list; none may be under way. done() is called once, perhaps before this returns. */
void session_list_begin(struct session_list *l);
bool session_list_is_open(const struct session_list *l);
/* In done(): moves the list to `out`, which is the caller's to free. False: memory ran out. */
bool session_list_take(struct session_list *l, struct text *out);

#endif
