/* SPDX-License-Identifier: MIT
 *
 * network_file.c - files of networks that an acl compares with -f: weir reads the same ones.
 *
 * A file that is not on this machine is taken as if it were fine. Main thread.
 */
#include <string.h>

#include "acl.h"
#include "weir/config/source.h"
#include "weir/net/netset.h"

/* Why weir refuses the first entry that it does not take; "" = it takes all. */
static const char *read_entries(struct arena *a, const char *path)
{
	char *text;
	size_t len;

	if (source_read_list(a, path, &text, &len) != 0)
		return "";
	text[len] = '\0';
	for (unsigned line = 1; *text != '\0'; line++) {
		char *end = text + strcspn(text, "\n"), *entry = text + strspn(text, " \t\r");
		const bool more = *end == '\n';
		const char *why = "";
		struct net_prefix net;

		*end = '\0';
		entry[strcspn(entry, " \t\r")] = '\0';
		if (entry[0] != '\0' && entry[0] != '#' && net_prefix_parse(entry, &net, &why) != 0)
			return arena_printf(a, "%s:%u: weir does not take '%s': %s", path, line, entry, why);
		text = end + more;
	}
	return "";
}

const char *haproxy_network_file_refused(struct haproxy *h, const char *path)
{
	const char *why = index_find(&h->network_files, path);

	if (why == NULL) {
		why = read_entries(h->arena, path);
		index_put(h->arena, &h->network_files, path, (void *)why);
	}
	return why[0] != '\0' ? why : NULL;
}
