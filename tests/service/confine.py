# SPDX-License-Identifier: MIT
"""confine.py - executes a command inside the unit's system call filter.

    python3 confine.py COMMAND...

The caller has set user, capabilities and no_new_privs. This program adds the seccomp filter, built from the
unit as systemd builds it: the allow list, RestrictAddressFamilies, MemoryDenyWriteExecute,
RestrictNamespaces.
"""

import errno
import os
import socket
import sys

import seccomp
import unit_file

PROT_WRITE, PROT_EXEC = 2, 4
NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)


def allow_list(unit):
    number = getattr(errno, unit["SystemCallErrorNumber"][-1])
    rules = seccomp.SyscallFilter(seccomp.ERRNO(number))
    for name in sorted(unit_file.allowed_calls(unit)):
        try:
            rules.add_rule(seccomp.ALLOW, name)
        except (RuntimeError, OSError):
            pass  # a call that libseccomp or this architecture does not know
    return rules


def denials(unit):
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    families = sorted(getattr(socket, name) for name in unit["RestrictAddressFamilies"][-1].split())
    no_family = seccomp.ERRNO(errno.EAFNOSUPPORT)
    for family in range(max(families)):
        if family not in families:
            rules.add_rule(no_family, "socket", seccomp.Arg(0, seccomp.EQ, family))
    rules.add_rule(no_family, "socket", seccomp.Arg(0, seccomp.GT, max(families)))
    refused = seccomp.ERRNO(errno.EPERM)
    if unit["MemoryDenyWriteExecute"] == ["yes"]:
        both = PROT_WRITE | PROT_EXEC
        rules.add_rule(refused, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, both, both))
        for name in ("mprotect", "pkey_mprotect"):
            rules.add_rule(refused, name, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, PROT_EXEC))
    if unit["RestrictNamespaces"] == ["yes"]:
        rules.add_rule(refused, "unshare")
        rules.add_rule(refused, "setns")
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
        for flag in NAMESPACES:
            rules.add_rule(refused, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    return rules


def main():
    unit = unit_file.read()
    filters = [denials(unit), allow_list(unit)]  # the second filter forbids loading another one
    for rules in filters:
        rules.set_attr(seccomp.Attr.CTL_NNP, 0)  # setpriv has already set it
        rules.load()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
