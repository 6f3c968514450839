/* SPDX-License-Identifier: MIT
 *
 * program.h - may a program of others be run: who could replace it?
 *
 * Whoever can write to a program, or to one of the folders on the way to it, decides what is run. Only root
 * and we may be able to. A sticky folder is no better, /tmp for one: anybody can make a file there before the
 * owner does. Runs nothing. Any thread; a hanging disk blocks it.
 */
#ifndef WEIR_BASE_PROGRAM_H
#define WEIR_BASE_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

/* Why a program is refused; always fits a path of usual length, and is cut otherwise. */
#define PROGRAM_WHY_MAX 320

/* Looks at the file `path`, which must be absolute, at each folder that leads to it, and at those that its
 * links lead through: root or `us` owns them, and nobody else may write to them; and it is a regular file
 * that can be executed. 0, or -errno with the reason in `why`, as "/opt/x is writable by others (mode 0777)":
 * -EPERM: it could be replaced; -EACCES: it is not executable, or not a regular file; -ELOOP; -ENAMETOOLONG;
 * or that of lstat(2). */
int program_look(const char *path, uid_t us, char *why, size_t room);

#endif
