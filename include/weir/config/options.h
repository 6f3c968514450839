/* SPDX-License-Identifier: MIT
 *
 * options.h - everything that can be written in a configuration, one row per option (options.tbl.h).
 *
 * A row defines parsing, allowed range, default, the line of -T, `weir help KEY` and, for a scalar, the
 * member of the configuration that stores it. The table also lists options that this version does not have
 * yet, so that the refusal can say so. Constant.
 */
#ifndef WEIR_CONFIG_OPTIONS_H
#define WEIR_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/config/config.h"

/* Where an option is allowed: in a section, or as a word of a certain kind of line. */
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
	IN_STATS_BIND = 1 << 15,
	IN_SNIFF = 1 << 16,
	IN_SET = 1 << 17,
	IN_OBSERVE = 1 << 18,
	IN_SOURCE_RATE = 1 << 19,
	IN_STICKY = 1 << 20,
};

#define IN_PROXIES (IN_LISTEN | IN_FRONTEND | IN_BACKEND)

/* How a value is read and printed, and the type of its field. */
enum option_type {
	OPT_DURATION,	/* int64_t, nanoseconds */
	OPT_MILLIS,	/* int, milliseconds, written as a duration */
	OPT_SECONDS,	/* int, whole seconds, written as a duration */
	OPT_SIZE,	/* uint32_t, bytes, a power of two */
	OPT_BYTES,	/* uint32_t, bytes, off = 0 */
	OPT_PACE,	/* uint64_t, bytes per second, off = 0 */
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
	OPT_USER_NAME,	/* char *: an existing user, by name or number */
	OPT_GROUP_NAME, /* the same for a group */
	OPT_USER,	/* uid_t */
	OPT_GROUP,	/* gid_t */
	OPT_SOURCE,	/* struct config_sources */
	OPT_LEVEL,	/* int: a log level by name */
	OPT_LOG_FORMAT, /* char *: see log_format.h */
	OPT_SAMPLE,	/* unsigned: one in how many; 0 = 1, UINT_MAX = errors only */
	OPT_CPUS,	/* struct config_global, its affinity */
	OPT_LOG,	/* struct config_global, its logs */
	OPT_ADMIN,	/* struct config_global, its admin socket */
	OPT_RESOLVERS,	/* struct config_resolvers */
	OPT_STATS,	/* struct config_global, its HTTP endpoint */
	OPT_AUTH,	/* struct config_auth */
	OPT_KEEPALIVE,	/* struct config_tcp: its keepalive */
	OPT_KEEPALIVES, /* struct config_proxy: the same for both sides */
	OPT_IDLE,	/* struct config_timeouts, both sides */
	OPT_BALANCE,	/* struct config_balancing */
	OPT_CHECK,	/* struct config_check, except its times and counts */
	OPT_CHECK_SEND,	/* struct config_check: one more step, like the next */
	OPT_CHECK_EXPECT,
	OPT_CHECK_HOST,	/* char * */
	OPT_AGENT,	/* struct config_agent: the port, or the address, of an agent; off */
	OPT_IP,		/* struct addr: an IP address; its length 0 = none */
	OPT_BYTES_TEXT,	/* char *: text with escapes, without a NUL */
	OPT_CHECK_LOGIN, /* char * */
	OPT_CHECK_STATUS, /* unsigned: of an HTTP response */
	OPT_CHECK_ROLE,	/* enum config_check_role */
	OPT_CHECK_SNI,	/* char *, like the next */
	OPT_CHECK_ALPN,
	OPT_CHECK_VERIFY, /* enum config_check_verify, and what belongs to it */
	OPT_CHECK_PATH,	/* char * */
	OPT_PROXY_TLVS,	/* struct config_server: what a PROXY header of version 2 carries */
	OPT_NETWORKS,	/* struct config_networks */
	OPT_USERS,	/* struct config_ids */
	OPT_UIDS,	/* struct config_ids: users in one word; the next: groups */
	OPT_GIDS,
	OPT_PORTS,	/* struct route_ports */
	OPT_NAMES,	/* struct config_names */
	OPT_PROTOCOLS,	/* struct route_protocols */
	OPT_PROTOS,	/* unsigned: bits of enum config_proto */
	OPT_SNIFF,	/* struct config_sniff */
	OPT_SOURCE_RATE, /* struct config_source_rate */
	OPT_EGRESS_NAMES, /* struct config_names of a backend, like the next */
	OPT_EGRESS_NETWORKS, /* struct config_networks */
	OPT_OBSERVE,	/* struct config_observing */
	OPT_STICKY,	/* struct config_sticky */
	OPT_ROUTE,	/* this and the next six are read where proxies are built */
	OPT_BIND,
	OPT_SERVER,
	OPT_SERVERS,
	OPT_SERVER_WORDS,
	OPT_BACKEND,
	OPT_INCLUDE,
	OPT_LATER, /* not in this version */
	OPT_TYPES
};

enum option_flags {
	OPT_NAMED = 1 << 0,	    /* `key NAME = value` */
	OPT_REPEAT = 1 << 1,	    /* may be repeated, and adds */
	OPT_NAME_OPTIONAL = 1 << 2, /* of an OPT_NAMED key */
	OPT_BARE = 1 << 3,	    /* the word may be used alone: on, or choice number `min` */
	OPT_OR_OFF = 1 << 4,	    /* 0 is also allowed, below `min` */
	OPT_HIDE_ZERO = 1 << 5,	    /* -T omits the word while it is 0 */
	OPT_UNDO = 1 << 6,	    /* an OPT_FLAG that KEY=off undoes, where it is inherited */
};

/* Ranges of ports. */
struct route_ports {
	struct config_ports *list;
	size_t count;
};

struct route_protocols {
	struct config_text_item *list;
	size_t count;
};

/* The result of the words of a use-backend line. */
struct route {
	struct config_networks src;
	struct route_ports ports;
	struct config_names sni;
	struct route_protocols alpn;
	unsigned protos;
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
	struct config_networks exempt;
	struct config_ids allow_uids;
	struct config_source_rate source_rate;
	struct config_sniff sniff;
	struct config_names allow_sni;
	struct config_networks allow_to;
	struct config_balancing balance;
	struct config_check check;
	struct config_observing observe;
	struct config_sticky sticky;
	enum config_send_proxy send_proxy; /* for servers that do not set it */
	struct config_timeouts timeouts;
	struct config_tcp tcp;
	struct config_tcp client_keepalive; /* of these two, only the members for keepalive are used */
	struct config_tcp server_keepalive;
};

struct option {
	const char *key;
	unsigned sections; /* where it is allowed */
	unsigned effect;   /* where it has an effect */
	enum option_type type;
	unsigned flags;
	const char *words; /* OPT_CHOICE: "a|b|!c", '!' = not in this version; otherwise the form of a
			    * value */
	size_t offset;	   /* offset in the structure of its section; SIZE_MAX = none */
	size_t size;	   /* of that member */
	const char *def;   /* text; NULL = none */
	int64_t min;
	int64_t max;
	const char *help;
	const char *example; /* a whole line, or a line with the word */
};

extern const struct option options[];
extern const size_t option_count;

/* The meaning of a key as written. */
struct option_match {
	const struct option *option; /* NULL = no row of `sections` has this key */
	const char *name;	     /* for an OPT_NAMED key: the rest of the text, "" = none given */
	size_t name_offset;	     /* of `name` in the text */
};

/* The row of one of `sections` for the text `key`; '-', '_' and blanks are equivalent. */
struct option_match option_find(unsigned sections, const char *key);
/* The longest key of `sections` that the words of `line` begin with; its length goes to `*len`. NULL:
 * none. */
const struct option *option_find_start(unsigned sections, const char *line, size_t *len);
/* The closest key of `sections`, NULL when none is close. */
const struct option *option_suggest(unsigned sections, const char *key);
/* A note to print after its name: "" when this version has it. */
const char *option_version_note(const struct option *o);

/* "global" for IN_GLOBAL; 0 and NULL for anything that is not a section. */
const char *section_word(unsigned section);
unsigned section_kind(const char *word, size_t len);
/* "'timeout-client', 'timeout-server'": the keys of `sections` that begin with this word, as many as fit;
 * "" when there is none. `buf` has OPTION_LIST_MAX bytes. */
#define OPTION_LIST_MAX 256
const char *option_list_of(unsigned sections, const char *word, char *buf);
/* "[frontend] or [listen]" for a mask of sections; `buf` has OPTION_PLACES_MAX bytes. */
#define OPTION_PLACES_MAX 256
const char *option_places(unsigned sections, char *buf);
/* "auto, epoll": the words of an OPT_CHOICE or OPT_BALANCE that this version has, or (`later`) those that it
 * does not have; "" when there are none. `buf` as above. */
const char *option_choices(const struct option *o, bool later, char *buf);
/* The word with the enum value `index` of the choice `key`; `buf` has OPTION_WORD_MAX bytes. */
#define OPTION_WORD_MAX 32
const char *option_choice_word(unsigned sections, const char *key, unsigned index, char *buf);

#endif
