# SPDX-License-Identifier: MIT
"""php-fpm behind php-fpm.ini: requests go to the pools by weight, and on when one is away."""

import hashlib
import os

import pytest

import examples
from php_fpm import Pool, ask

SIZE = 5 << 20


@pytest.fixture
def pools(servers):
    here = servers("php")
    return [Pool(here, "php1"), Pool(here, "php2"), Pool(here, "php3", tcp=True)]


def test_requests_go_to_the_pools_by_weight_and_on_when_one_is_away(pools, folder, weir):
    path = os.path.join(folder, "php.sock")
    config, options = examples.load(
        "php-fpm.ini", "unix:/run/weir/php.sock", f"unix:{path}",
        "unix:/run/php/fpm-1.sock", pools[0].address, "unix:/run/php/fpm-2.sock", pools[1].address,
        "10.0.0.31:9000", pools[2].address, sockets=True)
    weir(config, options)
    front = f"unix:{path}"
    # A fifth for the third; each worker has its own turn.
    found = [ask(front, "/ping") for _ in range(50)]
    assert [round(found.count(pool.name) / 10) for pool in pools] == [2, 2, 1], found

    body = os.urandom(SIZE)
    said = ask(front, pools[0].script, body).split()
    assert said[0] in ("php1", "php2", "php3")
    assert said[1:] == [str(SIZE), hashlib.sha256(body).hexdigest()]

    # A socket at which nobody listens refuses, as a port does.
    for pool in pools[::2]:
        pool.crash()
    assert {ask(front, "/ping") for _ in range(10)} == {"php2"}
    pools[0].start()
    assert {ask(front, "/ping") for _ in range(10)} == {"php1", "php2"}
