# SPDX-License-Identifier: MIT
"""The rows of servers in `show stat`, for tests of health checks, and the section that they mostly need."""

import csv
import io
import re

from harness.timing import wait_until

NO_SERVER = "has no server left"


def losing_servers(weir):
    """As `weir`, for daemons whose backends lose all servers."""
    def start(*args, **kw):
        daemon = weir(*args, **kw)
        daemon.expected_alarms = NO_SERVER
        return daemon

    return start


def stat(daemon, server, proxy="l"):
    """The row of a server in `show stat`."""
    text = daemon.ask("show stat").lstrip("# ")
    return next(row for row in csv.DictReader(io.StringIO(text))
                if row["pxname"] == proxy and row["svname"] == server)


def wait_stat(daemon, server, **wanted):
    """Waits until the row has these values; status and check_status may have a word before or behind."""
    row = {}

    def there():
        row.update(stat(daemon, server))
        return all(re.search(v, row[k]) for k, v in wanted.items())
    wait_until(there, lambda: f"{server} with {wanted}: status={row['status']} "
               f"check={row['check_status']} {row['last_chk']}\n{daemon.log()[-1500:]}")
    return row


def listen(servers, *lines):
    return "[listen l]\nbind = 127.0.0.1:0\n" + "".join(f"server {s}\n" for s in servers) + \
        "".join(f"{line}\n" for line in lines)
