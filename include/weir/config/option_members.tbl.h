/* SPDX-License-Identifier: MIT
 *
 * option_members.tbl.h - what the rows of options.tbl.h define outside the table.
 *
 * Define some of these macros, then include this file: each is expanded once for every row that has MADE_x as
 * its field. OPTION_GLOBAL(type, member), and likewise FRONT, BACK, TIMEOUT, TCP, CHECK, BIND and SERVER: the
 * row's type and member. OPTION_CHOICE(member, constants...): the names of its words in code.
 */
#ifndef OPTION_GLOBAL
#define OPTION_GLOBAL(type, member)
#endif
#ifndef OPTION_FRONT
#define OPTION_FRONT(type, member)
#endif
#ifndef OPTION_BACK
#define OPTION_BACK(type, member)
#endif
#ifndef OPTION_TIMEOUT
#define OPTION_TIMEOUT(type, member)
#endif
#ifndef OPTION_TCP
#define OPTION_TCP(type, member)
#endif
#ifndef OPTION_CHECK
#define OPTION_CHECK(type, member)
#endif
#ifndef OPTION_BIND
#define OPTION_BIND(type, member)
#endif
#ifndef OPTION_SERVER
#define OPTION_SERVER(type, member)
#endif
#ifndef OPTION_CHOICE
#define OPTION_CHOICE(member, ...)
#endif

/* Selects the macro for the field of a row. */
#define OPTION_AT_MADE_GLOBAL(member)	 GLOBAL, member
#define OPTION_AT_MADE_FRONT(member)	 FRONT, member
#define OPTION_AT_MADE_BACK(member)	 BACK, member
#define OPTION_AT_MADE_TIMEOUT(member)	 TIMEOUT, member
#define OPTION_AT_MADE_TCP(member)	 TCP, member
#define OPTION_AT_MADE_KEEPALIVE(member) TCP, member
#define OPTION_AT_MADE_CHECK(member)	 CHECK, member
#define OPTION_AT_MADE_BIND(member)	 BIND, member
#define OPTION_AT_MADE_SERVER(member)	 SERVER, member

#define OPTION_AT_MADE_GLOBAL_CHOICE(...) GLOBAL_CHOICE, __VA_ARGS__
#define OPTION_AT_MADE_FRONT_CHOICE(...)  FRONT_CHOICE, __VA_ARGS__
#define OPTION_AT_MADE_BACK_CHOICE(...)	  BACK_CHOICE, __VA_ARGS__
#define OPTION_AT_MADE_BIND_CHOICE(...)	  BIND_CHOICE, __VA_ARGS__
#define OPTION_AT_MADE_TIMEOUT_CHOICE(...) TIMEOUT_CHOICE, __VA_ARGS__
#define OPTION_GLOBAL_CHOICE(type, member, ...)                                                              \
	OPTION_GLOBAL(type, member) OPTION_CHOICE(member, __VA_ARGS__)
#define OPTION_FRONT_CHOICE(type, member, ...)                                                               \
	OPTION_FRONT(type, member) OPTION_CHOICE(member, __VA_ARGS__)
#define OPTION_BACK_CHOICE(type, member, ...)                                                                \
	OPTION_BACK(type, member) OPTION_CHOICE(member, __VA_ARGS__)
#define OPTION_BIND_CHOICE(type, member, ...)                                                                \
	OPTION_BIND(type, member) OPTION_CHOICE(member, __VA_ARGS__)
#define OPTION_TIMEOUT_CHOICE(type, member, ...)                                                             \
	OPTION_TIMEOUT(type, member) OPTION_CHOICE(member, __VA_ARGS__)

#define OPTION_AT_FIELD_GLOBAL(member)	NONE, member
#define OPTION_AT_FIELD_PROXY(member)	NONE, member
#define OPTION_AT_FIELD_BIND(member)	NONE, member
#define OPTION_AT_FIELD_SERVER(member)	NONE, member
#define OPTION_AT_FIELD_LOG(member)	NONE, member
#define OPTION_AT_FIELD_BALANCE(member) NONE, member
#define OPTION_AT_FIELD_CHECK(member)	NONE, member
#define OPTION_AT_FIELD_ROUTE(member)	NONE, member
#define OPTION_AT_FIELD_SNIFF(member)	NONE, member
#define OPTION_AT_FIELD_OBSERVE(member) NONE, member
#define OPTION_AT_FIELD_SOURCE_RATE(member) NONE, member
#define OPTION_AT_FIELD_STICKY(member)	NONE, member
#define OPTION_AT_NO_FIELD		NONE, none
#define OPTION_NONE(type, member)

#define OPTION_FOR(type, which, ...) OPTION_##which(type, __VA_ARGS__)
#define OPTION_SEND(type, ...)	     OPTION_FOR(type, __VA_ARGS__)
#define OPTION(key, sections, effect, type, flags, words, field, def, min, max, help, example)               \
	OPTION_SEND(type, OPTION_AT_##field)
#define LATER(key, sections, flags, help, example)
#include "weir/config/options.tbl.h"
#undef OPTION
#undef LATER
#undef OPTION_GLOBAL
#undef OPTION_FRONT
#undef OPTION_BACK
#undef OPTION_TIMEOUT
#undef OPTION_TCP
#undef OPTION_CHECK
#undef OPTION_BIND
#undef OPTION_SERVER
#undef OPTION_CHOICE
