# SPDX-License-Identifier: MIT
"""Asks the HTTP endpoint of a daemon."""

import http.client
import re

from harness.timing import PATIENCE, wait_until


def port_of(daemon):
    """The latest: a reload may have moved it."""
    return int(wait_until(lambda: re.findall(r"HTTP endpoint is at 127\.0\.0\.1:(\d+)", daemon.log()),
                          "the endpoint's address is in the log")[-1])


def get(daemon, path, method="GET", headers=None, source=None):
    """(status, headers, body)"""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(daemon), timeout=PATIENCE,
                                            source_address=source)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()
