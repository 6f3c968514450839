/* SPDX-License-Identifier: MIT
 *
 * foreign.tbl.h - the directives of HAProxy (2.6 to 3.0) and of nginx's stream modules, and what weir has.
 *
 * One table for the hints of `weir -c`, for the tables of doc/migrating.md, and for whoever converts a file.
 *   FOREIGN(whose, area, state, word, ours, hint)
 *          a word that is no key of weir; `weir -c` prints the hint
 *   FOREIGN_KNOWN(whose, area, state, word, ours, note)
 *          a word that is also one of weir's, or for which a more general row has the hint; not for `weir -c`
 *   whose  HAPROXY, NGINX
 *   area   where it stands: see enum foreign_area of foreign.h
 *   state  see enum foreign_state
 *   word   what a line begins with, or a word within a line, or a section; a '*' at the end matches the rest
 *          of the word; '-', '_' and blanks are equivalent
 *   ours   the key, or the word of a line, of weir that does it; NULL = none
 *   hint   the advice; note: a remark, NULL = none. What is to be written is in quotes.
 *
 * "..." in a hint is replaced by the word that follows in the user's line; text attached to it, as in ":..."
 * and "...ms", is kept only if that word is a bare number. NETWORK is replaced by all networks of the line,
 * VERSION by the version of send-proxy on a server line, SOCKET by the path and the words of HAProxy's "stats
 * socket". If the first key that a hint quotes is not in this version, the message that shows the hint says
 * so.
 *
 * "if {src}" at the end of a word matches a condition that is a list of networks and nothing else, "unless
 * {src}" the negation of one. A row without them matches the rules that we cannot convert, so its hint must
 * not say what to write.
 */
#include "foreign_haproxy_global.tbl.h"
#include "foreign_haproxy_proxy.tbl.h"
#include "foreign_haproxy_rules.tbl.h"
#include "foreign_haproxy_lines.tbl.h"
#include "foreign_nginx.tbl.h"
