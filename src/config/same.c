/* SPDX-License-Identifier: MIT
 *
 * same.c - do two parts of snapshots mean the same to a running daemon? Member by member, from members.tbl.h.
 *
 * Any thread.
 */
#include "weir/config/same.h"

#include <string.h>

#include "weir/base/same_text.h"

/* same_TYPE() for each structure of the table. Numbers are compared with '^', which does not compile for a
 * pointer: a pointer needs a row that says what it points to. */
#define STRUCT(type)                                                                                         \
	static bool same_##type(const struct type *a, const struct type *b)                                  \
	{
#define END                                                                                                  \
	return true;                                                                                         \
	}
#define SAME_IF(condition)                                                                                   \
	if (!(condition))                                                                                    \
		return false;
#define SAME_EACH(count, condition)                                                                          \
	SAME_IF(a->count == b->count)                                                                        \
	for (size_t i = 0; i < a->count; i++) {                                                              \
		SAME_IF(condition)                                                                           \
	}
#define VALUE(member)		 SAME_IF((a->member ^ b->member) == 0)
#define NAME(member)		 SAME_IF(strncmp(a->member, b->member, sizeof(a->member)) == 0)
#define BYTES(member)		 SAME_IF(memcmp(a->member, b->member, sizeof(a->member)) == 0)
#define TEXT(member)		 SAME_IF(same_text(a->member, b->member))
#define INNER(type, member)	 SAME_IF(same_##type(&a->member, &b->member))
#define SOCKADDR(member, len)	 SAME_IF(memcmp(&a->member, &b->member, a->len) == 0)
#define NUMBERS(list, count)	 SAME_EACH(count, (a->list[i] ^ b->list[i]) == 0)
#define ITEMS(type, list, count) SAME_EACH(count, same_##type(&a->list[i], &b->list[i]))
#define NETSET(set, networks)	 SAME_IF((a->set == NULL) == (b->set == NULL)) /* the networks have a row */
#define HOSTSET(set, names)	 SAME_IF((a->set == NULL) == (b->set == NULL)) /* likewise */
#define TRUST(member)		 SAME_IF(a->member == b->member) /* the same text is the same object */
#define LISTED(member)		 SAME_IF(a->member == b->member) /* likewise */
#define INDEX(member)
#define PLACE(member)
#define ORIGINS(member)
#define OTHERS(list, count)
#include "members.tbl.h"

bool config_frontend_same(const struct config_frontend *a, const struct config_frontend *b)
{
	return same_config_frontend(a, b);
}

bool config_backend_same(const struct config_backend *a, const struct config_backend *b)
{
	return same_config_backend(a, b);
}

bool config_server_same(const struct config_server *a, const struct config_server *b)
{
	return same_config_server(a, b);
}

bool config_addr_same(const struct addr_spec *a, const struct addr_spec *b)
{
	return same_addr_spec(a, b);
}

bool config_bind_same(const struct config_bind *a, const struct config_bind *b)
{
	return same_config_bind(a, b);
}

bool config_check_same(const struct config_check *a, const struct config_check *b)
{
	return same_config_check(a, b);
}

bool config_sources_same(const struct config_sources *a, const struct config_sources *b)
{
	return same_config_sources(a, b);
}

bool config_tcp_same(const struct config_tcp *a, const struct config_tcp *b)
{
	return same_config_tcp(a, b);
}

bool config_log_same(const struct config_log *a, const struct config_log *b)
{
	return same_config_log(a, b);
}
