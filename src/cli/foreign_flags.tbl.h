/* SPDX-License-Identifier: MIT
 *
 * foreign_flags.tbl.h - flags of HAProxy and nginx that mean nothing here, one row each:
 * FOREIGN_FLAG(flag, whole, what to do instead). Without `whole` the flag may have letters behind it.
 *
 * A longer flag stands before a shorter one that it begins with.
 */
FOREIGN_FLAG("-sf", 1, "systemd restarts weir; to end one by hand: weir -s quit")
FOREIGN_FLAG("-st", 1, "systemd restarts weir; to end one at once: weir -s stop")
FOREIGN_FLAG("-x", 1, "a new process takes no sockets from an old one in this version; leave it out")
FOREIGN_FLAG("-S", 1, "there is no master process; the socket for commands is 'admin-socket' in [global]")
FOREIGN_FLAG("-Ws", 1, "there is no master process and no worker process: leave it out")
FOREIGN_FLAG("-W", 1, "there is no master process and no worker process: leave it out")
FOREIGN_FLAG("-db", 1, "weir stays in the foreground unless -D is given: leave it out")
FOREIGN_FLAG("-dS", 1, "write -o global.splice=off")
FOREIGN_FLAG("-dr", 1, "a server whose name does not resolve never stops the start: leave it out")
FOREIGN_FLAG("-dW", 1, "a warning never ends weir; 'weir -c' shows them")
FOREIGN_FLAG("-dM", 0, "memory is not poisoned in this version: leave it out")
FOREIGN_FLAG("-d", 0, "there are no such switches here; 'level=debug' of 'log' in [global] says more")
FOREIGN_FLAG("-n", 0, "write -o global.maxconn=NUMBER")
FOREIGN_FLAG("-N", 0, "write 'maxconn' in [defaults], or -o SECTION.maxconn=NUMBER")
FOREIGN_FLAG("-m", 0, "memory is limited by MemoryMax= of the unit, or by ulimit -v")
FOREIGN_FLAG("-C", 1, "paths are those of the folder that weir is started in; change to it first")
FOREIGN_FLAG("-L", 1, "there are no peers in this version: leave it out")
FOREIGN_FLAG("-g", 1, "write -o SECTION.KEY=VALUE, as in -o global.threads=2")
FOREIGN_FLAG("-e", 1, "write 'log = file:PATH' in [global]")
