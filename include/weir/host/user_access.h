/* SPDX-License-Identifier: MIT
 *
 * user_access.h - what the user that a daemon becomes may not read or create, though root may.
 *
 * Such a daemon starts, since root reads and creates everything before it changes the user, and then refuses
 * to reload or to reopen its log. Main thread, with no other threads running: it forks.
 */
#ifndef WEIR_HOST_USER_ACCESS_H
#define WEIR_HOST_USER_ACCESS_H

#include "weir/config/config.h"

#define USER_ACCESS_MAX 1024 /* longest line, with its NUL */

/* `line` is one sentence without its end: what the user cannot do, and what will not work. */
typedef void user_access_report(void *arg, const char *line);

/* Calls `report` once per thing that the user of `c` is denied: files of the configuration, folders of log
 * files and of Unix sockets; not what is missing. Nothing, unless this process is root and `user` is somebody
 * else, who is known here. 0, or -errno if it cannot be tested: no memory, no process, or no right to become
 * that user. */
int user_access_test(const struct config *c, user_access_report *report, void *arg);

#endif
