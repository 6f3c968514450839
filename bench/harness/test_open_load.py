# SPDX-License-Identifier: MIT
"""The open-loop generator and the slow core, as programs: is what they say true?

    WEIR_BUILD=build python3 bench/harness/test_open_load.py
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import machine  # noqa: E402
import process  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(os.environ.get("WEIR_BUILD", ROOT + "/build"), "bench")
STALL_S = 0.2
RATE, SECONDS, CONNECTIONS = 1000, 2, 16
WARM_S = 0.5
TRIES = 6       # for what may only be small: the machine may be busy


def open_load(*words, **more):
    one = subprocess.Popen([BENCH + "/open_load", *(str(word) for word in words)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, **more)
    process.first(one.pid)     # where that is allowed, other tests do not disturb it
    return one


def said(*words, stdin=None):
    """What it printed, when it ends well."""
    with open_load(*words, stdin=subprocess.PIPE) as program:
        out, err = program.communicate(stdin, timeout=60)
    if program.returncode != 0:
        raise AssertionError("exit code %d: %s" % (program.returncode, err.decode()))
    return out.decode()


class Histogram(unittest.TestCase):
    POINTS = (("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99), ("p999_us", 0.999))

    def check(self, numbers):
        got = json.loads(said("histogram", stdin="\n".join(map(str, numbers)).encode()))
        numbers = sorted(numbers)
        self.assertEqual(got["count"], len(numbers))
        self.assertAlmostEqual(got["max_us"], numbers[-1] / 1e3, places=3)
        self.assertAlmostEqual(got["mean_us"], sum(numbers) / len(numbers) / 1e3, places=2)
        for name, share in self.POINTS:
            exact = numbers[max(0, -int(-len(numbers) * share // 1) - 1)] / 1e3
            self.assertLessEqual(abs(got[name] - exact), 0.01 * exact + 0.001, name)

    def test_percentiles_are_within_one_percent(self):
        source = random.Random(1)
        self.check([int(10 ** source.uniform(2, 10)) for _ in range(20000)])
        self.check([int(source.lognormvariate(12, 2)) for _ in range(1001)])

    def test_each_power_of_two_and_its_neighbours_are_within_one_percent(self):
        for power in range(3, 42):
            for ns in (2 ** power - 1, 2 ** power, 2 ** power + 1, 2 ** power * 3 // 2):
                self.check([ns])

    def test_the_smallest_and_the_slowest_count(self):
        self.check([0])
        self.check([1] * 999 + [10 ** 9])
        self.check([1] * 998 + [10 ** 9] * 2)


class Schedule(unittest.TestCase):
    @staticmethod
    def times(*words):
        return [int(line) for line in said("schedule", *words).split()]

    def test_requests_are_evenly_spaced(self):
        self.assertEqual(self.times(1000, 0.1), [i * 1000000 for i in range(100)])

    def test_random_gaps_are_the_same_for_the_same_seed(self):
        first, again, other = (self.times(10000, 1, seed) for seed in (7, 7, 8))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_random_gaps_are_exponential(self):
        times = self.times(20000, 1, 3)
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(len(times) / 20000, 1, delta=0.03)
        longer = sum(gap > 50000 for gap in gaps) / len(gaps)      # than the mean: 1/e of them
        self.assertAlmostEqual(longer, 0.368, delta=0.02)


class Relayed(unittest.TestCase):
    """With bench/backend, and bench/bare_relay in front of it."""

    def setUp(self):
        self.server, self.port = process.free_ports(2)
        self.backend = self.started(BENCH + "/backend", self.server, stdin=subprocess.PIPE)
        self.relay = self.started(BENCH + "/bare_relay", self.port, self.server)
        get = b"GET /1k HTTP/1.1\r\n\r\n"
        process.wait_until(lambda: process.ask(self.port, get, 1024), 20, "no reply through the relay")

    def started(self, *argv, **more):
        one = process.start(argv, stdout=subprocess.DEVNULL, **more)
        process.first(one.pid)
        self.addCleanup(process.stop, one)
        return one

    def stalled(self, mode, places):
        """A run during which the relay is stopped once."""
        with open_load(mode, self.port, places, RATE, SECONDS) as load:
            time.sleep(WARM_S + SECONDS / 4)
            self.relay.send_signal(signal.SIGSTOP)
            time.sleep(STALL_S)
            self.relay.send_signal(signal.SIGCONT)
            out, err = load.communicate(timeout=60)
        self.assertEqual(load.returncode, 0, err)
        got = json.loads(out)
        self.assertEqual(got["ops"], RATE * SECONDS)
        return got

    def assert_stall_is_seen(self, mode, places, hidden):
        """`hidden`: would a latency from the actual start miss it?"""
        for _ in range(TRIES):
            got = self.stalled(mode, places)
            # A tenth of the requests is due in the stall and waits for the rest of it: 1 % for 0.9 of it.
            self.assertGreater(got["p99_us"], 0.75e6 * STALL_S)
            self.assertGreater(got["p999_us"], 0.9e6 * STALL_S)
            self.assertGreater(got["max_us"], 0.95e6 * STALL_S)
            # A closed loop sees one slow request per connection, less than 1 % of them.
            if got["p50_us"] < 0.25e6 * STALL_S and (not hidden or got["sent_p99_us"] < got["p99_us"] / 2):
                return
        self.fail("p50 %(p50_us)g us; from the actual start, p99 %(sent_p99_us)g us" % got)

    def test_a_stall_counts_for_each_request_that_was_due_in_it(self):
        self.assert_stall_is_seen("keep", CONNECTIONS, True)

    def test_a_stall_counts_for_each_connection_that_was_due_in_it(self):
        self.assert_stall_is_seen("close", 1024, False)

    def test_a_connection_that_waits_for_a_place_counts_from_when_it_was_due(self):
        self.assert_stall_is_seen("close", 8, True)

    def test_without_a_proxy_its_own_latency_is_small(self):
        for mode, places in (("keep", CONNECTIONS), ("echo", CONNECTIONS), ("close", 1024)):
            for _ in range(TRIES):
                got = json.loads(said(mode, self.server, places, RATE, 0.5))
                self.assertEqual(got["ops"], RATE // 2)
                if got["p50_us"] < 500 and got["late_p50_us"] < 250:
                    break
            else:
                self.fail("%s: p50 %g us, late by %g us" % (mode, got["p50_us"], got["late_p50_us"]))

    def test_a_closed_loop_and_few_places_work(self):
        for mode in ("keep", "echo", "close"):
            self.assertGreater(json.loads(said(mode, self.port, 4, 0, 0.2))["achieved"], 0)
        got = json.loads(said("close", self.port, 1, 200, 0.5))
        self.assertEqual(got["ops"], 100)


class Errors(unittest.TestCase):
    def against(self, reply, mode):
        """The exit code and the error with a server that answers each connection so, once."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                with listener.accept()[0] as sock:
                    sock.recv(4096)
                    sock.sendall(reply)
            server = threading.Thread(target=serve)
            server.start()
            with open_load(mode, listener.getsockname()[1], 1, 10, 0.2) as load:
                err = load.communicate(timeout=60)[1].decode()
            server.join()
        return load.returncode, err

    def test_anything_that_is_wrong_ends_it(self):
        right = b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\nConnection: close\r\n\r\n" + 1024 * b"x"
        for reply, wanted in ((b"HTTP/1.1 500", "wrong bytes"), (right[:-1] + b"y", "wrong bytes"),
                              (right + b"x", "wrong bytes"), (right[:-1], "end of file"),
                              (b"", "end of file")):
            code, err = self.against(reply, "close")
            self.assertEqual(code, 1)
            self.assertIn(wanted, err)

    def test_nobody_listens(self):
        with open_load("keep", process.free_ports(1)[0], 1, 10, 0.2) as load:
            self.assertIn(b"connect", load.communicate(timeout=60)[1])
        self.assertEqual(load.returncode, 1)


class SlowCore(unittest.TestCase):
    def test_it_takes_the_rest_of_the_cpu(self):
        argv = [BENCH + "/slow_core", max(os.sched_getaffinity(0)), 70, 1000]
        with process.running(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL) as taker:
            if not taker.stdout.readline():
                self.skipTest("no right to use SCHED_FIFO")
            before, begin = machine.cpu_ns(taker.pid), time.monotonic()
            time.sleep(0.5)
            used = (machine.cpu_ns(taker.pid) - before) / 1e9 / (time.monotonic() - begin)
            self.assertAlmostEqual(used, 0.3, delta=0.08)
            taker.stdin.close()
            self.assertEqual(taker.wait(10), 0)
            taker.stdin = None


if __name__ == "__main__":
    unittest.main()
