# SPDX-License-Identifier: MIT
"""Two machines with a long line between them, as network namespaces: near 10.72.0.1, far 10.72.0.2.

There is no netem everywhere. So each namespace has a TUN device, and a thread carries packets from one
to the other, each after `delay` seconds. Needs root and /dev/net/tun.
"""

import fcntl
import heapq
import os
import select
import struct
import threading
import time

from harness import netns

NEAR, FAR = "10.72.0.1", "10.72.0.2"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_DEVICE = "/dev/net/tun"
_PACKET_MAX = 65536


def missing():
    """Why there can be no such line here, or None."""
    if not os.path.exists(_DEVICE):
        return f"no {_DEVICE}"
    return netns.missing()


def _device(name):
    """A TUN device of the namespace whose thread calls this."""
    fd = os.open(_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return fd


class SlowLine:
    def __init__(self, delay):
        self.delay = delay
        self.near, self.far = netns.Netns(), netns.Netns()
        self._fds = []
        for space, here, there in ((self.near, NEAR, FAR), (self.far, FAR, NEAR)):
            self._fds.append(space.call(lambda: _device("line")))
            space.run("ip", "address", "add", here, "peer", there, "dev", "line")
            space.run("ip", "link", "set", "line", "up", "mtu", "1500", "txqueuelen", "10000")
        self._stop, self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _take(self, source, on_the_way, serial):
        """All packets that wait at `source`; returns how many there have been."""
        target = self._fds[1 - self._fds.index(source)]
        while True:
            try:
                packet = os.read(source, _PACKET_MAX)
            except BlockingIOError:
                return serial
            serial += 1
            heapq.heappush(on_the_way, (time.monotonic() + self.delay, serial, target, packet))

    def _carry(self):
        on_the_way, serial = [], 0
        while True:
            wait = max(0, on_the_way[0][0] - time.monotonic()) if on_the_way else None
            ready, _, _ = select.select([*self._fds, self._stop], [], [], wait)
            if self._stop in ready:
                return
            for source in ready:
                serial = self._take(source, on_the_way, serial)
            while on_the_way and on_the_way[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(on_the_way)
                try:
                    os.write(target, packet)
                except OSError:
                    pass  # the device is full: the packet is lost, as on any line

    def close(self):
        os.write(self._stopped, b"x")
        self._thread.join()
        for fd in (*self._fds, self._stop, self._stopped):
            os.close(fd)
        self.near.close()
        self.far.close()
