/* SPDX-License-Identifier: MIT
 *
 * admin_levels.tbl.h - one row per level of the admin socket, the least first: ADMIN_LEVEL(NAME, word, may).
 *
 * What a level may do is said here and nowhere else: help, manual and refusals are made of it, and a test
 * holds each command of the socket to it.
 */
#ifndef ADMIN_USER_MAY
#define ADMIN_USER_MAY	   "'show info' and 'show stat'"
#define ADMIN_OPERATOR_MAY "every command that only shows something"
#define ADMIN_ADMIN_MAY	   "also what changes servers or ends sessions"
#endif
#ifdef ADMIN_LEVEL
ADMIN_LEVEL(USER, "user", ADMIN_USER_MAY)
ADMIN_LEVEL(OPERATOR, "operator", ADMIN_OPERATOR_MAY)
ADMIN_LEVEL(ADMIN, "admin", ADMIN_ADMIN_MAY)
#endif
