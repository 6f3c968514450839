/* SPDX-License-Identifier: MIT
 *
 * setting_route.c - `use-backend`: the words of its line, each read by setting_access.c.
 *
 * Main thread.
 */
#include "weir/net/netset.h"
#include "setting.h"

int setting_parse_route(const struct setting *s, struct route *route)
{
	struct setting words = *s;

	words.base = route;
	return setting_parse_words(&words, 0, IN_ROUTE);
}

void setting_print_route(const struct config_route *route, FILE *out)
{
	char buf[NETSET_TEXT_MAX];

	for (size_t i = 0; i < route->src_list.count; i++)
		fprintf(out, "%s%s", i > 0 ? "," : " src=", net_prefix_format(&route->src_list.list[i], buf));
	for (size_t i = 0; i < route->src_list.file_count; i++) {
		fputs(i > 0 || route->src_list.count > 0 ? "," : " src=", out);
		setting_print_list(&route->src_list.files[i], out);
	}
	for (size_t i = 0; i < route->port_count; i++) {
		const struct config_ports *ports = &route->ports[i];

		fprintf(out, "%s%u", i > 0 ? "," : " dst-port=", ports->first);
		if (ports->last != ports->first)
			fprintf(out, "-%u", ports->last);
	}
	setting_print_tls_words(route, out);
}
