# SPDX-License-Identifier: MIT
"""Starts a command as a service manager does: descriptors from 3 on, LISTEN_PID set to its process ID.

    python3 activate.py FD,FD,... NAMES COMMAND...        NAMES "-": leave LISTEN_FDNAMES unset
"""

import fcntl
import os
import sys


def main(numbers, names, command):
    # Move them out of the way first: they may have numbers that others must get.
    high = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 200) for n in numbers.split(",") if n]
    for i, fd in enumerate(high):
        os.dup2(fd, 3 + i, inheritable=True)
        os.close(fd)
    os.closerange(3 + len(high), 300)
    os.environ["LISTEN_PID"] = str(os.getpid())
    os.environ["LISTEN_FDS"] = str(len(high))
    if names != "-":
        os.environ["LISTEN_FDNAMES"] = names
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
