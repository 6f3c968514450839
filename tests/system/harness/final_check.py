# SPDX-License-Identifier: MIT
"""The final check: after a test, whatever it did, the daemon is back to where it was."""

from collections import Counter

from harness import process
from harness.daemon import sanitized
from harness.timing import wait_until

IDLE_WINDOW = 0.3
IDLE_TICKS = 1
# A sanitizer makes each timer and each answer of the admin socket dearer; a spin is 30.
IDLE_TICKS_SANITIZED = 5


def _at_rest(daemon):
    """None when all gauges are at rest, else words."""
    info = daemon.info()
    for name in ("sessions", "pipes_in_use", "bufs_in_use"):
        if info[name] != 0:
            return f"{name} is {info[name]}"
    # While pipes or buffers rest, a timer ages them.
    if info["pending_ops"] != daemon.baseline["pending_ops"]:
        return f"pending_ops is {info['pending_ops']}, not {daemon.baseline['pending_ops']}"
    return None


def _at_start(daemon, links):
    """The descriptors of the start, but for those sockets of that moment that are rightly gone by now."""
    gone = daemon.baseline["passing"].difference(links)
    return [link for link in daemon.baseline["fds"] if link not in gone]


def _descriptors(daemon):
    """None when every descriptor is accounted for, else words."""
    links = process.descriptors(daemon.pid)
    info, pools = daemon.info(), daemon.pools()
    resting = info["pipes_resting"] + pools["pipes_resting_pool"]
    extra = len(links) - len(_at_start(daemon, links))
    if extra == 2 * resting:
        return None
    return (f"{extra} descriptors more than at the start, {resting} pipes rest: "
            f"{process.kinds(links)}, at the start {process.kinds(daemon.baseline['fds'])}")


def _aged(daemon):
    """None when nothing rests any more, else words."""
    info, pools = daemon.info(), daemon.pools()
    resting = info["pipes_resting"] + pools["pipes_resting_pool"]
    if resting:
        return f"{resting} pipes still rest"
    if info["timers"] != daemon.baseline["timers"]:
        return f"timers is {info['timers']}, not {daemon.baseline['timers']}"
    links = process.descriptors(daemon.pid)
    now, was = Counter(links), Counter(_at_start(daemon, links))
    if now != was:
        return f"descriptors: more {dict(now - was)}, fewer {dict(was - now)}"
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
    _wait_none(_at_rest, daemon, "final check: at rest")
    _wait_none(_descriptors, daemon, "final check: descriptors")
    if idle:
        most = IDLE_TICKS_SANITIZED if sanitized() else IDLE_TICKS
        ticks = daemon.cpu_over(IDLE_WINDOW)
        assert ticks <= most, f"final check: {ticks} ticks of CPU in {IDLE_WINDOW} s at rest"
    _wait_none(_aged, daemon, "final check: after two pipe cycles")
    check_log(daemon)


def check_log(daemon):
    alarms = daemon.alarms()
    assert not alarms, "final check: the log holds\n" + "\n".join(alarms[:20])


def check_exit(daemon):
    """Ends the daemon by SIGTERM: exit 0, and nothing to say."""
    status = daemon.terminate()
    assert status == 0, f"exit status {status} after SIGTERM:\n{daemon.log()[-3000:]}"
    check_log(daemon)
