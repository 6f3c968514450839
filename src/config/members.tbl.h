/* SPDX-License-Identifier: MIT
 *
 * members.tbl.h - one row per member of the structures of config.h that are copied and compared, in the order
 * of their declaration; copy.c and same.c are made from it.
 *
 * Define all of these macros, then include this file, which undefines them. A structure is STRUCT(type), its
 * rows and END; it comes after those that it contains. If a member has no row, the unit test of copies does
 * not compile; if a pointer has the row of a number, same.c does not.
 *   VALUE(member)              a number, an enum or a bool
 *   NAME(member)               text in an array
 *   BYTES(member)              an array of bytes
 *   TEXT(member)               a pointer to text; NULL = none
 *   INNER(type, member)        a structure with rows of its own
 *   SOCKADDR(member, len)      the socket address of which `len` bytes are used
 *   NUMBERS(list, count)       a pointer to numbers, and the next member: how many
 *   ITEMS(type, list, count)   the same for structures with rows of their own
 *   NETSET(set, networks)      a set of the networks in the member `networks`; NULL = none
 *   HOSTSET(set, names)        a set of the patterns in the member `names`, a row before it; NULL = none
 *   TRUST(member)              certificates, of which a copy has a reference; NULL = none
 *   LISTED(member)             the same for the list of a file
 * Copied, but not compared:
 *   INDEX(member)              an index into another array of the same snapshot
 *   PLACE(member)              where it was written, a struct config_place
 * Neither copied (0 in the copy) nor compared:
 *   ORIGINS(member)            a struct config_origins
 *   OTHERS(list, count)        structures that are copied and compared one by one
 * The rows of options.tbl.h follow by their type: a new option is TEXT or VALUE without a new line here.
 */
#define MEMBER(type, member)	      MEMBER_##type(member)
#define MEMBER_OPT_DURATION(member)   VALUE(member)
#define MEMBER_OPT_MILLIS(member)     VALUE(member)
#define MEMBER_OPT_SECONDS(member)    VALUE(member)
#define MEMBER_OPT_SIZE(member)	      VALUE(member)
#define MEMBER_OPT_BYTES(member)      VALUE(member)
#define MEMBER_OPT_PACE(member)	      VALUE(member)
#define MEMBER_OPT_COUNT(member)      VALUE(member)
#define MEMBER_OPT_INT(member)	      VALUE(member)
#define MEMBER_OPT_COUNT_AUTO(member) VALUE(member)
#define MEMBER_OPT_INT_AUTO(member)   VALUE(member)
#define MEMBER_OPT_COUNT_OFF(member)  VALUE(member)
#define MEMBER_OPT_SAMPLE(member)     VALUE(member)
#define MEMBER_OPT_PORT(member)	      VALUE(member)
#define MEMBER_OPT_MARK(member)	      VALUE(member)
#define MEMBER_OPT_DSCP(member)	      VALUE(member)
#define MEMBER_OPT_SWITCH(member)     VALUE(member)
#define MEMBER_OPT_FLAG(member)	      VALUE(member)
#define MEMBER_OPT_CHOICE(member)     VALUE(member)
#define MEMBER_OPT_TEXT(member)	      TEXT(member)
#define MEMBER_OPT_USER_NAME(member)  TEXT(member)
#define MEMBER_OPT_GROUP_NAME(member) TEXT(member)
#define MEMBER_OPT_BYTES_TEXT(member) TEXT(member)
#define MEMBER_OPT_AGENT(member)      INNER(config_agent, member)
#define MEMBER_OPT_IP(member)	      INNER(addr, member)

STRUCT(addr)
VALUE(len)
SOCKADDR(un, len)
END

STRUCT(addr_spec)
VALUE(kind)
VALUE(family)
VALUE(port)
VALUE(last_port)
VALUE(client_port)
INNER(addr, addr)
NAME(host)
END

STRUCT(net_prefix)
VALUE(family)
VALUE(bits)
BYTES(ip)
END

STRUCT(config_log)
VALUE(kind)
TEXT(path)
INNER(addr_spec, address)
VALUE(facility)
TEXT(format)
VALUE(level)
PLACE(place)
END

STRUCT(config_socket_owner)
VALUE(mode)
VALUE(uid)
VALUE(gid)
END

STRUCT(config_timeouts)
#define OPTION_TIMEOUT MEMBER
#include "weir/config/option_members.tbl.h"
END

STRUCT(config_tcp)
VALUE(keepalive)
VALUE(keepalive_idle_s)
#define OPTION_TCP MEMBER
#include "weir/config/option_members.tbl.h"
END

STRUCT(config_bind)
NAME(name)
INNER(addr_spec, addr)
VALUE(first_port)
VALUE(last_port)
#define OPTION_BIND MEMBER
#include "weir/config/option_members.tbl.h"
INNER(config_socket_owner, owner)
PLACE(place)
END

STRUCT(config_sources)
ITEMS(addr, list, count)
VALUE(client)
END

STRUCT(config_agent)
VALUE(port)
INNER(addr, addr)
END

STRUCT(config_server)
NAME(name)
INNER(addr_spec, addr)
VALUE(set)
INNER(config_sources, source)
#define OPTION_SERVER MEMBER
#include "weir/config/option_members.tbl.h"
VALUE(proxy_crc32c)
VALUE(proxy_unique_id)
VALUE(proxy_pass)
VALUE(check)
PLACE(place)
END

STRUCT(config_check_step)
VALUE(expect)
VALUE(negate)
NUMBERS(bytes, len)
END

STRUCT(config_status_range)
VALUE(first)
VALUE(last)
END

STRUCT(config_text_item)
TEXT(text)
END

STRUCT(config_check)
VALUE(kind)
VALUE(port)
VALUE(proxy)
TEXT(method)
TEXT(path)
TEXT(host)
ITEMS(config_status_range, statuses, status_count)
VALUE(soft_stop)
TEXT(body)
ITEMS(config_check_step, steps, step_count)
VALUE(role)
TEXT(user)
TEXT(database)
VALUE(tls)
TEXT(sni)
TEXT(alpn)
VALUE(verify)
TEXT(ca_file)
TRUST(trust)
TEXT(hello)
TEXT(program)
ITEMS(config_text_item, args, arg_count)
TEXT(exec_path)
#define OPTION_CHECK MEMBER
#include "weir/config/option_members.tbl.h"
END

STRUCT(config_balancing)
VALUE(algorithm)
VALUE(draws)
VALUE(hash)
VALUE(hash_key)
VALUE(balance_factor)
END

STRUCT(config_observing)
VALUE(what)
VALUE(limit)
VALUE(on_error)
VALUE(down_ns)
END

STRUCT(config_list)
TEXT(name)
LISTED(list)
END

STRUCT(config_networks)
ITEMS(net_prefix, list, count)
ITEMS(config_list, files, file_count)
END

STRUCT(config_names)
VALUE(any)
VALUE(none)
ITEMS(config_text_item, list, count)
ITEMS(config_list, files, file_count)
END

STRUCT(config_sticky)
VALUE(by)
VALUE(expire_ns)
VALUE(size)
END

STRUCT(config_backend)
NAME(name)
INNER(config_balancing, balance)
OTHERS(servers, server_count)
INDEX(fallback)
#define OPTION_BACK MEMBER
#include "weir/config/option_members.tbl.h"
INNER(config_check, check)
INNER(config_observing, observe)
INNER(config_sticky, sticky)
INNER(config_timeouts, timeouts)
INNER(config_tcp, tcp)
INNER(config_names, allow_sni)
HOSTSET(sni_hosts, allow_sni)
NETSET(allow_to, allow_to_list)
INNER(config_networks, allow_to_list)
PLACE(place)
ORIGINS(origins)
END

STRUCT(config_ports)
VALUE(first)
VALUE(last)
END

STRUCT(config_route)
INDEX(backend)
NETSET(src, src_list)
INNER(config_networks, src_list)
ITEMS(config_ports, ports, port_count)
INNER(config_names, sni)
HOSTSET(hosts, sni)
ITEMS(config_text_item, alpn, alpn_count)
VALUE(protos)
PLACE(place)
END

STRUCT(config_sniff)
VALUE(kind)
VALUE(timeout_ns)
VALUE(required)
END

STRUCT(config_source_rate)
VALUE(count)
VALUE(burst)
VALUE(period_ns)
END

STRUCT(config_frontend)
NAME(name)
OTHERS(binds, bind_count)
#define OPTION_FRONT MEMBER
#include "weir/config/option_members.tbl.h"
NETSET(allow, allow_list)
NETSET(deny, deny_list)
NETSET(trusted, trusted_list)
NETSET(exempt, exempt_list)
INNER(config_networks, allow_list)
INNER(config_networks, deny_list)
INNER(config_networks, trusted_list)
INNER(config_networks, exempt_list)
NUMBERS(allow_uids, allow_uid_count)
INNER(config_source_rate, source_rate)
INNER(config_sniff, sniff)
ITEMS(config_route, routes, route_count)
INDEX(backend)
VALUE(routes_only)
VALUE(listen)
INNER(config_timeouts, timeouts)
INNER(config_tcp, tcp)
PLACE(place)
ORIGINS(origins)
END

#undef STRUCT
#undef END
#undef VALUE
#undef NAME
#undef BYTES
#undef TEXT
#undef INNER
#undef SOCKADDR
#undef NUMBERS
#undef ITEMS
#undef NETSET
#undef HOSTSET
#undef TRUST
#undef LISTED
#undef INDEX
#undef PLACE
#undef ORIGINS
#undef OTHERS
