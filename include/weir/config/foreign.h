/* SPDX-License-Identifier: MIT
 *
 * foreign.h - the directives of HAProxy and nginx, and what weir has instead: the rows of foreign.tbl.h.
 *
 * Constant. Any thread.
 */
#ifndef WEIR_CONFIG_FOREIGN_H
#define WEIR_CONFIG_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

enum foreign_whose { FOREIGN_HAPROXY, FOREIGN_NGINX };

/* Where a word occurs. */
enum foreign_area {
	FOREIGN_GLOBAL,       /* HAProxy: global */
	FOREIGN_SECTION_LINE, /* HAProxy: defaults, frontend, backend, listen */
	FOREIGN_BALANCE,      /* HAProxy: the algorithms of balance and hash-type */
	FOREIGN_CHECK,        /* HAProxy: health checks */
	FOREIGN_RULE,         /* HAProxy: rules and what they do */
	FOREIGN_STICK,        /* HAProxy: tables of clients */
	FOREIGN_MAIN,         /* nginx: the main and events contexts */
	FOREIGN_STREAM,       /* nginx: the stream modules */
	FOREIGN_PROXYING,     /* nginx: ngx_stream_proxy_module */
	FOREIGN_UPSTREAM,     /* nginx: the upstream modules */
	FOREIGN_BIND_WORD,    /* words within a line: bind, listen */
	FOREIGN_SERVER_WORD,
	FOREIGN_LOG_WORD,
	FOREIGN_SECTION,      /* a section or a block */
};

/* Are these words within a line, not at its beginning? */
static inline bool foreign_is_in_line(enum foreign_area area)
{
	return area == FOREIGN_BIND_WORD || area == FOREIGN_SERVER_WORD || area == FOREIGN_LOG_WORD;
}

enum foreign_state {
	FOREIGN_SAME,      /* the same name, perhaps with '=' or a unit */
	FOREIGN_RENAMED,   /* the same under another name */
	FOREIGN_DIFFERS,   /* something that does what it is used for */
	FOREIGN_NO_EFFECT, /* weir needs nothing for it: leave it out */
	FOREIGN_MISSING,   /* weir has nothing like it */
	FOREIGN_NOT_OURS,  /* not the business of a TCP proxy: HTTP, TLS termination, UDP, mail */
};
#define FOREIGN_STATES (FOREIGN_NOT_OURS + 1)

struct foreign {
	enum foreign_whose whose;
	enum foreign_area area;
	enum foreign_state state;
	const char *word;
	const char *ours; /* a key or word of weir; NULL = none */
	const char *hint; /* for `weir -c`; NULL = not needed, or a more general row has it */
	const char *note; /* a remark; NULL = none */
};

/* All rows, in the order of the table. */
const struct foreign *foreign_rows(size_t *count);

#endif
