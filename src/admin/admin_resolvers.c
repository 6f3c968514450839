/* SPDX-License-Identifier: MIT
 *
 * admin_resolvers.c - `show resolvers`: the name servers, and what they answered, in HAProxy's form.
 *
 * There is one section, with the name that HAProxy gives to the one that it makes from resolv.conf. Control
 * thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"

#define SECTION "default"

static void show_text(const struct name_server_view *v, struct text *out)
{
	text_printf(out, " nameserver %s:\n", v->name);
#define NAME_SERVER_COUNT(member, word, help)                                                                \
	text_printf(out, "  %-12s %llu\n", word ":", (unsigned long long)v->counts.member);
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
}

static void show_json(const struct name_server_view *v, struct json *j)
{
	json_line(j, 2);
	json_object(j, NULL);
	json_string(j, "section", SECTION);
	json_string(j, "nameserver", v->name);
#define NAME_SERVER_COUNT(member, word, help) json_unsigned(j, word, v->counts.member);
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
	json_object_end(j);
}

void admin_show_resolvers(const struct admin_call *c)
{
	const struct name_servers_source *source = &c->ctx->name_servers;
	struct name_server_view list[NAME_SERVERS_MAX];
	const size_t count = source->read != NULL ? source->read(source->from, list) : 0;

	if (c->arg_count > 0 && strcmp(c->args[0], SECTION) != 0) {
		admin_refuse(c, "Can't find that resolvers section.",
			     "there is no section '%s' of resolvers; the only one is '" SECTION "'",
			     c->args[0]);
		return;
	}
	if (c->json != NULL)
		json_array(c->json, NULL);
	else if (count > 0)
		text_printf(c->out, "Resolvers section " SECTION "\n");
	for (size_t i = 0; i < count; i++) {
		if (c->json != NULL)
			show_json(&list[i], c->json);
		else
			show_text(&list[i], c->out);
	}
	if (c->json == NULL)
		return;
	json_line(c->json, 0);
	json_array_end(c->json);
	text_add(c->out, "\n", 1);
}
