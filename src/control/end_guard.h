/* SPDX-License-Identifier: MIT
 *
 * end_guard.h - ends a process that cannot exit because a disk hangs under one of its files.
 *
 * The main thread performs the last steps of a shutdown: it removes the pid file and the paths of sockets.
 * Main thread.
 */
#ifndef WEIR_CONTROL_END_GUARD_H
#define WEIR_CONTROL_END_GUARD_H

/* Far longer than a shutdown takes with working disks. */
#define END_GUARD_S 5

/* Gives the process END_GUARD_S seconds to exit, then ends it with `exit_code`. */
void end_guard_start(int exit_code);

#endif
