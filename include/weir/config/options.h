/* SPDX-License-Identifier: MIT
 *
 * options.h - what can be written in a configuration, one row an option (options.tbl.h).
 *
 * From a row come parsing, range check, default, the line of -T, `weir help KEY` and, of a scalar, the
 * member of the configuration that keeps it. The table also names what this version does not have yet, so
 * that it is refused in words.
 * Constant.
 */
#ifndef WEIR_CONFIG_OPTIONS_H
#define WEIR_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/config/config.h"

/* Where an option may stand: a section, or the words of a line of its own kind. */
enum option_section {
	IN_GLOBAL = 1 << 0,
	IN_STATS = 1 << 1,
	IN_DEFAULTS = 1 << 2,
	IN_LISTEN = 1 << 3,
	IN_FRONTEND = 1 << 4,
	IN_BACKEND = 1 << 5,
	IN_BIND = 1 << 6,
	IN_SERVER = 1 << 7,
	IN_LOG = 1 << 8,
	IN_ADMIN = 1 << 9,
	IN_KEEPALIVE = 1 << 10,
	IN_BALANCE = 1 << 11,
	IN_SYSLOG = 1 << 12,
	IN_CHECK = 1 << 13,
	IN_ROUTE = 1 << 14,
};

#define IN_PROXIES (IN_LISTEN | IN_FRONTEND | IN_BACKEND)

/* How a value is read and printed, and the type of the field it is kept in. */
enum option_type {
	OPT_DURATION,	/* int64_t, nanoseconds */
	OPT_MILLIS,	/* int, milliseconds, written as a duration */
	OPT_SECONDS,	/* int, whole seconds, written as a duration */
	OPT_SIZE,	/* uint32_t, bytes, a power of two */
	OPT_BYTES,	/* uint32_t, bytes, off = 0 */
	OPT_PACE,	/* uint64_t, bytes a second, off = 0 */
	OPT_COUNT,	/* unsigned */
	OPT_INT,	/* int, not negative */
	OPT_COUNT_AUTO, /* unsigned, auto = 0 */
	OPT_INT_AUTO,	/* int, auto = -1 */
	OPT_COUNT_OFF,	/* unsigned, off = 0 */
	OPT_PORT,	/* uint16_t, 0 = none */
	OPT_MARK,	/* uint32_t, decimal or 0x, off = 0 */
	OPT_DSCP,	/* int: 0 to 63 or the name of a class, off = -1 */
	OPT_SWITCH,	/* bool: on, off */
	OPT_FLAG,	/* bool: the word alone */
	OPT_CHOICE,	/* an enum, in the order of `words` */
	OPT_TEXT,	/* char * */
	OPT_MODE,	/* int: octal */
	OPT_USER_NAME,	/* char *: a user that this machine has, by name or number */
	OPT_GROUP_NAME, /* the same of a group */
	OPT_USER,	/* uid_t */
	OPT_GROUP,	/* gid_t */
	OPT_SOURCE,	/* struct config_sources */
	OPT_LEVEL,	/* int: a log level by name */
	OPT_CPUS,	/* struct config_global, its affinity */
	OPT_LOG,	/* struct config_global, its logs */
	OPT_ADMIN,	/* struct config_global, its admin socket */
	OPT_KEEPALIVE,	/* struct config_tcp */
	OPT_IDLE,	/* struct config_timeouts, both sides */
	OPT_BALANCE,	/* struct config_balancing */
	OPT_CHECK,	/* struct config_check, but its times and counts */
	OPT_CHECK_SEND,	/* struct config_check: one more step, as is the next */
	OPT_CHECK_EXPECT,
	OPT_CHECK_HOST,	/* char * */
	OPT_PROXY_TLVS,	/* struct config_server: what a PROXY header of version 2 carries */
	OPT_NETWORKS,	/* struct config_networks */
	OPT_USERS,	/* struct config_ids */
	OPT_UIDS,	/* struct config_ids: users in one word, as are the groups of the next */
	OPT_GIDS,
	OPT_PORTS,	/* struct route_ports */
	OPT_ROUTE,	/* these five are read where proxies are built */
	OPT_BIND,
	OPT_SERVER,
	OPT_BACKEND,
	OPT_INCLUDE,
	OPT_LATER, /* not in this version */
	OPT_TYPES
};

enum option_flags {
	OPT_NAMED = 1 << 0,	    /* `key NAME = value` */
	OPT_REPEAT = 1 << 1,	    /* may be given again, and adds */
	OPT_NAME_OPTIONAL = 1 << 2, /* of an OPT_NAMED key */
	OPT_BARE = 1 << 3,	    /* a word that may stand alone: on, or the choice of number `min` */
	OPT_OR_OFF = 1 << 4,	    /* 0 is allowed too, below `min` */
	OPT_HIDE_ZERO = 1 << 5,	    /* a word that -T leaves out while it is 0 */
};

/* Ranges of ports. */
struct route_ports {
	struct config_ports *list;
	size_t count;
};

/* What the words of a use-backend line fill. */
struct route {
	struct config_networks src;
	struct route_ports ports;
};

/* The options of a proxy section; [defaults] is one of these, each section begins as a copy. */
struct config_proxy {
#define OPTION_FRONT CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
#define OPTION_BACK CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	struct config_networks allow;
	struct config_networks deny;
	struct config_networks trusted;
	struct config_ids allow_uids;
	struct config_balancing balance;
	struct config_check check;
	enum config_send_proxy send_proxy; /* of servers that do not say */
	struct config_timeouts timeouts;
	struct config_tcp tcp;
};

struct option {
	const char *key;
	unsigned sections; /* where it may stand */
	unsigned effect;   /* where it changes anything */
	enum option_type type;
	unsigned flags;
	const char *words; /* OPT_CHOICE: "a|b|!c", '!' = not in this version; else how a value looks */
	size_t offset;	   /* in the structure of its section; SIZE_MAX = none */
	size_t size;	   /* of that member */
	const char *def;   /* text; NULL = none */
	int64_t min;
	int64_t max;
	const char *help;
	const char *example; /* a whole line, or the words in their line */
};

extern const struct option options[];
extern const size_t option_count;

/* What a written key means. */
struct option_match {
	const struct option *option; /* NULL = no row of `sections` has this key */
	const char *name;	     /* of an OPT_NAMED key: the rest of the text, "" = none given */
	size_t name_offset;	     /* of `name` in the text */
};

/* The row of one of `sections` for the text `key`, in which '-', '_' and blanks are the same. */
struct option_match option_find(unsigned sections, const char *key);
/* The longest key of `sections` that the words of `line` begin with; its length in `*len`. NULL: none. */
const struct option *option_find_start(unsigned sections, const char *line, size_t *len);
/* The nearest key of `sections`, NULL when none is near. */
const struct option *option_suggest(unsigned sections, const char *key);
/* What to say behind its name: "" when this version has it. */
const char *option_version_note(const struct option *o);

/* "global" for IN_GLOBAL; 0 and NULL for what is no section. */
const char *section_word(unsigned section);
unsigned section_kind(const char *word, size_t len);
/* "'timeout-client', 'timeout-server'": the keys of `sections` that begin with this word, as many as fit;
 * "" when there is none. `buf` has OPTION_LIST_MAX bytes. */
#define OPTION_LIST_MAX 256
const char *option_list_of(unsigned sections, const char *word, char *buf);
/* "[frontend] or [listen]" for a mask of sections; `buf` has OPTION_PLACES_MAX bytes. */
#define OPTION_PLACES_MAX 128
const char *option_places(unsigned sections, char *buf);
/* "auto, epoll": the words of an OPT_CHOICE or OPT_BALANCE that this version has, or (`later`) those
 * that it has not; "" when there are none. `buf` as above. */
const char *option_choices(const struct option *o, bool later, char *buf);
/* The word of number `index` of the choice `key`, as its enum counts; `buf` has OPTION_WORD_MAX bytes. */
#define OPTION_WORD_MAX 32
const char *option_choice_word(unsigned sections, const char *key, unsigned index, char *buf);

#endif
