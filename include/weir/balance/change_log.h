/* SPDX-License-Identifier: MIT
 *
 * change_log.h - log lines about changes of servers and backends: as text, and as fields.
 *
 * The fields of a JSON line are an interface (log_fields.h), and so are the phrases "server B/S is UP", DOWN,
 * MAINT and so on. Control thread.
 */
#ifndef WEIR_BALANCE_CHANGE_LOG_H
#define WEIR_BALANCE_CHANGE_LOG_H

#include <stddef.h>
#include <stdint.h>

struct backend;
struct server;

/* What has changed. */
enum change_what { CHANGE_STATE, CHANGE_WEIGHT, CHANGE_MAXCONN, CHANGES };

/* "state", "weight", "maxconn". Static. */
const char *change_word(enum change_what what);
/* Logs that `what` of the server changed from `from` to `to` (for a state, enum server_state), and why. */
void change_log(const struct server *s, enum change_what what, uint32_t from, uint32_t to, const char *cause);
/* Logs that the backend has lost its last usable server; `used` of its servers stay in use because of
 * `panic`. */
void change_log_backend_down(const struct backend *b, size_t used);

#endif
