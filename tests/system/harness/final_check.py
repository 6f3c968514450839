# SPDX-License-Identifier: MIT
"""The final check: whatever a test did, the daemon returns to its initial state."""

from collections import Counter

from harness import process
from harness.daemon import sanitized
from harness.timing import wait_until

IDLE_WINDOW = 0.3
IDLE_TICKS = 1
# Under a sanitizer, each timer and each response of the admin socket costs more; a spin takes 30 ticks.
IDLE_TICKS_SANITIZED = 5


def _no_sessions(daemon):
    """None if nothing is in use, otherwise a description."""
    info = daemon.info()
    for name in ("sessions", "pipes_in_use", "bufs_in_use"):
        if info[name] != 0:
            return f"{name} is {info[name]}"
    return None


def _at_rest(daemon):
    """None if all gauges are at rest, otherwise a description."""
    in_use = _no_sessions(daemon)
    if in_use:
        return in_use
    info = daemon.info()
    # While there are idle pipes or buffers, a timer ages them.
    if info["pending_ops"] != daemon.baseline["pending_ops"]:
        return f"pending_ops is {info['pending_ops']}, not {daemon.baseline['pending_ops']}"
    return None


def at_start(daemon, links):
    """The descriptors at the start, except for transient sockets of that moment that are gone by now."""
    gone = daemon.baseline["passing"].difference(links)
    return [link for link in daemon.baseline["fds"] if link not in gone]


def _descriptors(daemon):
    """None if every descriptor is accounted for, otherwise a description."""
    links = process.descriptors(daemon.pid)
    info, pools = daemon.info(), daemon.pools()
    resting = info["pipes_resting"] + pools["pipes_resting_pool"]
    extra = len(links) - len(at_start(daemon, links))
    if extra == 2 * resting:
        return None
    return (f"{extra} more descriptors than at the start, {resting} idle pipes: "
            f"{process.kinds(links)}, at the start {process.kinds(daemon.baseline['fds'])}")


def _aged(daemon):
    """None if no idle pipe is left and timers are back, otherwise a description."""
    info, pools = daemon.info(), daemon.pools()
    resting = info["pipes_resting"] + pools["pipes_resting_pool"]
    if resting:
        return f"{resting} pipes are still kept"
    if info["timers"] != daemon.baseline["timers"]:
        return f"timers is {info['timers']}, not {daemon.baseline['timers']}"
    links = process.descriptors(daemon.pid)
    now, was = Counter(links), Counter(at_start(daemon, links))
    if now != was:
        return f"descriptors: added {dict(now - was)}, missing {dict(was - now)}"
    return None


def _wait_none(find, daemon, what):
    words = [""]

    def clear():
        words[0] = find(daemon)
        return words[0] is None
    wait_until(clear, lambda: f"{what}: {words[0]}")


def check(daemon, idle=True):
    """Raises AssertionError unless the daemon is alive, empty, idle and silent."""
    assert daemon.child.poll() is None, \
        f"weir ended with {daemon.child.poll()}:\n{daemon.log()[-3000:]}"
    if daemon.reloaded:
        _wait_none(_no_sessions, daemon, "final check: at rest")
        daemon.rebase()
    _wait_none(_at_rest, daemon, "final check: at rest")
    _wait_none(_descriptors, daemon, "final check: descriptors")
    if idle:
        most = IDLE_TICKS_SANITIZED if sanitized() else IDLE_TICKS
        ticks = daemon.cpu_over(IDLE_WINDOW)
        assert ticks <= most, f"final check: {ticks} CPU ticks in {IDLE_WINDOW} s while idle"
    _wait_none(_aged, daemon, "final check: after two pipe cycles")
    check_log(daemon)


def check_log(daemon):
    alarms = daemon.alarms()
    assert not alarms, "final check: the log contains\n" + "\n".join(alarms[:20])


def check_exit(daemon):
    """Ends the daemon with SIGTERM: it must exit with 0 and log nothing alarming."""
    status = daemon.terminate()
    assert status == 0, f"exit status {status} after SIGTERM:\n{daemon.log()[-3000:]}"
    check_log(daemon)
