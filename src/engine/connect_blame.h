/* SPDX-License-Identifier: MIT
 *
 * connect_blame.h - what follows for the server, and for the log, when a connect has failed. A worker's
 * thread.
 */
#ifndef WEIR_ENGINE_CONNECT_BLAME_H
#define WEIR_ENGINE_CONNECT_BLAME_H

struct session;

/* Logs that a connect of the session has failed with `err`, an -errno; few lines, whatever a client does. */
void connect_log_failure(struct session *s, int err);
/* Notifies control when a server has failed so many times in a row that it may be taken for down, and when
 * its name may have another address. */
void connect_blame_server(struct session *s);

#endif
