/* SPDX-License-Identifier: MIT
 *
 * server_check.h - the health check of one server, and its agent: those of its section, with the words of its
 * own line.
 *
 * Any thread.
 */
#ifndef WEIR_CONFIG_SERVER_CHECK_H
#define WEIR_CONFIG_SERVER_CHECK_H

#include "weir/config/config.h"

/* What its texts and lists point to belongs to `b`. A server that is checked in a section without `check`, as
 * one that was added at run time may be, gets a TCP check. */
struct config_check config_server_check(const struct config_backend *b, const struct config_server *s);

/* How many failed connects in a row count, where they are observed: if the configuration does not say, as
 * HAProxy's error-limit and nginx's max_fails. */
#define OBSERVE_LIMIT_CHECKED 10
#define OBSERVE_LIMIT_ALONE   1
unsigned config_server_observe_limit(const struct config_backend *b, const struct config_server *s);

/* How its agent is asked: as a check of CONFIG_CHECK_AGENT, whose steps are `say` if something is sent. */
struct config_check config_server_agent_check(const struct config_backend *b, const struct config_server *s,
					      struct config_check_step *say);

/* Descriptors that control needs for so many programs of `check = exec` at once: of each its process and its
 * output, and two while one starts. */
static inline unsigned config_exec_fds(unsigned programs)
{
	return programs > 0 ? 2 * programs + 2 : 0;
}

#endif
