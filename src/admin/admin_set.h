/* SPDX-License-Identifier: MIT
 *
 * admin_set.h - the words of `set server` beyond state and weight.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_SET_H
#define WEIR_ADMIN_ADMIN_SET_H

#include <stdbool.h>

#include "weir/admin/admin_answers.h"

/* "set server B/S WORD VALUE ...", where `s` is B/S. Answers, unless WORD is not one of these: false. */
bool admin_set_more(const struct admin_call *c, struct server *s);
/* admin_agent.c: what follows "set server B/S agent", "agent-addr" and so on. */
void admin_set_agent(const struct admin_call *c, struct server *s);
void admin_set_agent_addr(const struct admin_call *c, struct server *s);
void admin_set_agent_port(const struct admin_call *c, struct server *s);
void admin_set_agent_send(const struct admin_call *c, struct server *s);
/* In HAProxy's voice, says what was refused, which is a mere warning there; false in ours. */
bool admin_haproxy_says(const struct admin_call *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
