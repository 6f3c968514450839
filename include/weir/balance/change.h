/* SPDX-License-Identifier: MIT
 *
 * change.h - what happens to servers and backends, as a line of the log: for people, and in fields.
 *
 * The fields of a JSON line are an interface (log_fields.h), and so are the words "server B/S is UP", DOWN,
 * MAINT and their like. Control thread.
 */
#ifndef WEIR_BALANCE_CHANGE_H
#define WEIR_BALANCE_CHANGE_H

#include <stddef.h>
#include <stdint.h>

struct backend;
struct server;

/* What has changed. */
enum change_what { CHANGE_STATE, CHANGE_WEIGHT, CHANGE_MAXCONN, CHANGES };

/* "state", "weight", "maxconn". Static. */
const char *change_word(enum change_what what);
/* Logs that `what` of the server was `from` (of a state its enum server_state) and is now `to`, and why. */
void change_log(const struct server *s, enum change_what what, uint32_t from, uint32_t to, const char *cause);
/* Logs that the backend has lost its last server; `used` of them are used all the same. */
void change_log_backend_down(const struct backend *b, size_t used);

#endif
