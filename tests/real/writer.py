# SPDX-License-Identifier: MIT
"""A client that writes all the time, as an application with one connection does; the gap in its writes."""

import threading
import time

from harness.timing import wait_until
from servers import SLOW

PAUSE = 0.02
# A client that has no answer for so long gives up its connection.
PATIENCE = 12


class Writer(threading.Thread):
    """connect() opens a connection, and its write(n) returns the name of the server that has committed it.
    Each write has its own number: what was confirmed is in `confirmed`, in order."""

    def __init__(self, connect):
        super().__init__(daemon=True)
        self.connect = connect
        self.arrived = []    # (when, server)
        self.confirmed = []
        self.errors = []
        self.stopped = False
        self.start()

    def run(self):
        number, link = 0, None
        while not self.stopped:
            number += 1
            try:
                link = link or self.connect()
                server = link.write(number)
                self.confirmed.append(number)
                self.arrived.append((time.monotonic(), server))
            except (OSError, EOFError, ValueError) as e:
                self.errors.append(f"{type(e).__name__}: {e}")
                if link:
                    link.close()
                link = None
            time.sleep(PAUSE)
        if link:
            link.close()

    def wait_for(self, server, patience=SLOW):
        """Waits for a write at this server from now on."""
        since = len(self.arrived)
        wait_until(lambda: any(where == server for _, where in self.arrived[since:]),
                   lambda: f"a write at {server}: the last are at {self.arrived[-3:]}, "
                   f"the last errors {self.errors[-3:]}", patience)

    def gap(self, since):
        """The longest time without a write, of those that end after `since`."""
        times = [when for when, _ in self.arrived]
        return max(b - a for a, b in zip(times, times[1:]) if b >= since)

    def stop(self):
        self.stopped = True
        self.join(2 * PATIENCE)
        assert not self.is_alive()
