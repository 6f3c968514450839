/* SPDX-License-Identifier: MIT
 *
 * explain_server.h - a server in the answer of `explain`. Main thread.
 */
#ifndef WEIR_ADMIN_EXPLAIN_SERVER_H
#define WEIR_ADMIN_EXPLAIN_SERVER_H

#include "weir/admin/admin_answers.h"
#include "weir/balance/preview.h"

struct rules_hello;

/* Adds the step about it. */
void explain_server(const struct admin_call *c, const struct server *s, enum preview_fate fate);
/* Why a client with this hello may not go to a server sni@; NULL = it may, or it is another one. Static. */
const char *explain_name(const struct server *s, const struct rules_hello *hello);

#endif
