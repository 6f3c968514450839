/* SPDX-License-Identifier: MIT
 *
 * end_guard.h - the end of a process that cannot end, because a disk hangs under one of its files.
 *
 * The last things are done on the main thread: a pid file and the paths of sockets are removed. Main
 * thread.
 */
#ifndef WEIR_CONTROL_END_GUARD_H
#define WEIR_CONTROL_END_GUARD_H

/* Far more than an end takes whose disks are well. */
#define END_GUARD_S 5

/* From now on the process has END_GUARD_S seconds to end; then it is ended with `exit_code`. */
void end_guard_start(int exit_code);

#endif
