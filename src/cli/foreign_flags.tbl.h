/* SPDX-License-Identifier: MIT
 *
 * foreign_flags.tbl.h - flags of HAProxy and nginx that weir does not have, one row each:
 * FOREIGN_FLAG(flag, whole, what to do instead). Without `whole`, further letters may follow the flag.
 *
 * A longer flag precedes any shorter one that is its prefix.
 */
FOREIGN_FLAG("-sf", 1, "to use a changed file: weir reload; to stop one by hand: weir -s quit")
FOREIGN_FLAG("-st", 1, "to use a changed file: weir reload; to stop one at once: weir -s stop")
FOREIGN_FLAG("-x", 1, "a new process cannot take over sockets, but 'weir reload' keeps them: leave it out")
FOREIGN_FLAG("-S", 1, "weir has no master process; the command socket is 'admin-socket' in [global]")
FOREIGN_FLAG("-Ws", 1, "weir has no master process and no worker processes: leave it out")
FOREIGN_FLAG("-W", 1, "weir has no master process and no worker processes: leave it out")
FOREIGN_FLAG("-db", 1, "weir stays in the foreground unless -D is given: leave it out")
FOREIGN_FLAG("-dS", 1, "write -o global.splice=off")
FOREIGN_FLAG("-dr", 1, "a server whose name does not resolve never prevents the start: leave it out")
FOREIGN_FLAG("-dW", 1, "a warning never stops weir; 'weir -c' shows all warnings")
FOREIGN_FLAG("-dM", 0, "memory is not poisoned in this version: leave it out")
FOREIGN_FLAG("-d", 0, "weir has no such switches; 'level=debug' on 'log' in [global] logs more")
FOREIGN_FLAG("-n", 0, "write -o global.maxconn=NUMBER")
FOREIGN_FLAG("-N", 0, "write 'maxconn' in [defaults], or -o SECTION.maxconn=NUMBER")
FOREIGN_FLAG("-m", 0, "limit memory with MemoryMax= in the unit, or with ulimit -v")
FOREIGN_FLAG("-C", 1, "paths are relative to the directory that weir is started in; change to it first")
FOREIGN_FLAG("-L", 1, "this version has no peers: leave it out")
FOREIGN_FLAG("-g", 1, "write -o SECTION.KEY=VALUE, as in -o global.threads=2")
FOREIGN_FLAG("-e", 1, "write 'log = file:PATH' in [global]")
