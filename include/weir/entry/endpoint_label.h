/* SPDX-License-Identifier: MIT
 *
 * endpoint_label.h - the label of a bind in log lines and answers: its name, or else its number.
 *
 * Main thread.
 */
#ifndef WEIR_ENTRY_ENDPOINT_LABEL_H
#define WEIR_ENTRY_ENDPOINT_LABEL_H

#include <stdio.h>

#include "weir/config/bind_range.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/frontend.h"

#define ENDPOINT_LABEL_MAX (CONFIG_NAME_MAX + 16)

/* Writes into `buf` (ENDPOINT_LABEL_MAX bytes) and returns it. The first bind of a frontend is 1. If one bind
 * has several inherited sockets, the second is "web.2", so that each has its own label. */
static inline const char *endpoint_label(const struct endpoint *e, char *buf)
{
	char part[16] = "";

	if (e->part > 1)
		(void)snprintf(part, sizeof(part), ".%u", e->part); /* always fits, as do the two below */
	if (e->config->name[0] != '\0')
		(void)snprintf(buf, ENDPOINT_LABEL_MAX, "%s%s", e->config->name, part);
	else
		(void)snprintf(buf, ENDPOINT_LABEL_MAX, "%u%s", e->number, part);
	return buf;
}

/* Is it the first of those that its line in the file has? Others of a range are not listed one by one. */
static inline bool endpoint_begins_line(const struct endpoint *e)
{
	const struct list *before = e->link.prev;

	return before == &e->frontend->endpoints ||
	       !bind_shares_line(list_entry(before, struct endpoint, link)->config, e->config);
}

/* Its address, or that of its range as the file has it, into `buf` (ADDR_TEXT_MAX bytes); returns `buf`. */
static inline const char *endpoint_line_address(const struct endpoint *e, char *buf)
{
	return bind_is_in_range(e->config) ? bind_line_address(e->config, buf) : addr_format(&e->addr, buf);
}

#endif
