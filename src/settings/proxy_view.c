/* SPDX-License-Identifier: MIT
 *
 * proxy_view.c - a frontend or backend of a snapshot as the options table sees a section.
 *
 * A snapshot stores each option on the side that uses it; the rows need it as in a section. Any thread.
 */
#include "proxy_view.h"

struct config_proxy proxy_view_front(const struct config_frontend *f)
{
	struct config_proxy p = {
#define OPTION_FRONT(type, member) .member = f->member,
#include "weir/config/option_members.tbl.h"
		.source_rate = f->source_rate,
		.sniff = f->sniff,
		.timeouts = f->timeouts,
		.tcp = f->tcp,
		.client_keepalive = f->tcp,
	};

	return p;
}

struct config_proxy proxy_view_back(const struct config_backend *b)
{
	struct config_proxy p = {
#define OPTION_BACK(type, member) .member = b->member,
#include "weir/config/option_members.tbl.h"
		.balance = b->balance,
		.check = b->check,
		.observe = b->observe,
		.allow_sni = b->allow_sni,
		.allow_to = b->allow_to_list,
		.sticky = b->sticky,
		.timeouts = b->timeouts,
		.tcp = b->tcp,
		.server_keepalive = b->tcp,
	};

	return p;
}
