/* SPDX-License-Identifier: MIT
 *
 * endpoint_label.h - what a bind is called in log lines and answers: its name, else its number.
 *
 * Main thread. Floor 5.
 */
#ifndef SLUICE_CONTROL_ENDPOINT_LABEL_H
#define SLUICE_CONTROL_ENDPOINT_LABEL_H

#include <stdio.h>

#include "sluice/engine/engine.h"

/* Writes into `buf` (CONFIG_NAME_MAX bytes) and returns it. The first bind of a frontend is 1. */
static inline const char *endpoint_label(const struct endpoint *e, char *buf)
{
	if (e->config->name[0] != '\0')
		(void)snprintf(buf, CONFIG_NAME_MAX, "%s", e->config->name);
	else
		(void)snprintf(buf, CONFIG_NAME_MAX, "%zu",
			       (size_t)(e->config - e->frontend->config->binds) + 1);
	return buf;
}

#endif
