/* SPDX-License-Identifier: MIT
 *
 * explain_words.h - the words of `explain` that are addresses and ports, and what they mean for `sticky`.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_EXPLAIN_WORDS_H
#define WEIR_ADMIN_EXPLAIN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/admin/admin_answers.h"
#include "weir/entry/endpoint.h"
#include "weir/net/addr.h"

struct preview;

/* Read the values of client=, dst= and port=. False if one was refused. */
bool explain_read_client(const struct admin_call *c, const char *value, struct addr_brief *out);
bool explain_read_destination(const struct admin_call *c, const char *value, struct addr_brief *out);
bool explain_read_port(const struct admin_call *c, const char *value, uint16_t *port);

/* The address that a client of `ep` connects to, unless it is `given`; family 0 = it has none, or there are
 * several. */
struct addr_brief explain_destination(const struct endpoint *ep, const struct addr_brief *given);
/* Can a client of `ep` connect to `given`? A PROXY header may name any address. */
bool explain_has_address(const struct endpoint *ep, const struct addr_brief *given);
/* Adds the step about the server that the client, or the address `to`, keeps. */
void explain_sticky(const struct admin_call *c, const struct preview *p, const struct addr_brief *to);

#endif
