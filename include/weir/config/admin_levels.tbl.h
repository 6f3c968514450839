/* SPDX-License-Identifier: MIT
 *
 * admin_levels.tbl.h - one row per level of the admin socket, the lowest first: ADMIN_LEVEL(NAME, word, may).
 *
 * This is the only place that says what a level may do: help, manual and refusals are generated from it, and
 * a test checks each command of the socket against it.
 */
#ifndef ADMIN_USER_MAY
#define ADMIN_USER_MAY	   "'show info', 'show stat', 'show backend', 'show version' and 'get weight'"
#define ADMIN_OPERATOR_MAY "every command that only shows something"
#define ADMIN_ADMIN_MAY	   "every command: also what changes servers and frontends, ends sessions, or reloads"
#endif
#ifdef ADMIN_LEVEL
ADMIN_LEVEL(USER, "user", ADMIN_USER_MAY)
ADMIN_LEVEL(OPERATOR, "operator", ADMIN_OPERATOR_MAY)
ADMIN_LEVEL(ADMIN, "admin", ADMIN_ADMIN_MAY)
#endif
