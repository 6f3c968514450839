# SPDX-License-Identifier: MIT
"""Fixtures that several files of tests have."""

import pytest

from test_convert import Got


@pytest.fixture(name="haproxy")
def _haproxy(tmp_path):
    """haproxy(TEXT, ARGUMENT...): the conversion of a file of HAProxy's."""
    return lambda text, *args: Got(tmp_path, text, *args)


@pytest.fixture(name="nginx")
def _nginx(tmp_path):
    """The same of nginx's."""
    return lambda text, *args: Got(tmp_path, text, *args, name="nginx.conf")
