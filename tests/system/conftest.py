# SPDX-License-Identifier: MIT
"""Fixtures of the system tests. How to run them: README.md.

Every fixture that starts a daemon ends with the final check in harness/final_check.py. After a failed
test, it is skipped and the daemon is killed, so that one fault causes one report.
"""

import os
import resource
import shutil
import signal
import tempfile
import threading

import pytest

from harness import daemon as daemons
from harness import driver, final_check, netns, original, peer, service, sut
from harness.checked import Agent
from harness.programs import Programs
from harness.stage import Stage, next_conn

# Workers in every test that does not set a number itself; several, to expose races.
THREADS = os.environ.get("WEIR_TEST_THREADS", "")


def pytest_configure():
    # Whoever starts the tests in the background of a shell makes every child ignore it. A worker of xdist
    # inherits this, and may run in another thread than the main one.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if driver.WANTED not in driver.KNOWN:
        raise pytest.UsageError(f"WEIR_TEST_DRIVER is epoll, io_uring or unset, not {driver.WANTED}")


def pytest_report_header():
    return f"driver: {driver.WANTED or 'as configured by each test'}"


def pytest_collection_modifyitems(items):
    product = sut.NAME == "weir"
    missing = product and not os.path.exists(daemons.BINARY)
    sanitized = product and not missing and daemons.sanitized()
    no_driver = driver.missing(daemons.BINARY) if product and not missing else None
    for item in items:
        if item.get_closest_marker("harness"):
            continue
        if missing:
            item.add_marker(pytest.mark.skip(reason=f"no binary {daemons.BINARY}: build it, "
                                             "or set WEIR_BIN"))
        elif no_driver:
            item.add_marker(pytest.mark.skip(reason=no_driver))
        elif not product and "stages" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=f"tests weir, not {sut.NAME}"))
        elif sut.NAME == "direct" and item.callspec.params.get("splice") in ("off", "auto"):
            item.add_marker(pytest.mark.skip(reason="without a proxy, all splice modes are the same"))
        elif sanitized and item.get_closest_marker("release_only"):
            item.add_marker(pytest.mark.skip(reason="a sanitizer changes what this test measures"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.when == "call":
        item.passed = report.passed


def passed(request):
    return getattr(request.node, "passed", False)


@pytest.fixture(scope="session")
def session_folder():
    """A directory with a short path, for Unix sockets, which user nobody can enter."""
    folder = tempfile.mkdtemp(prefix="sl-")
    os.chmod(folder, 0o755)
    yield folder
    if not os.environ.get("WEIR_TEST_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def stage_cache(session_folder, request):
    cache = {}
    yield cache
    errors = []
    for key, stage in cache.items():
        try:
            stage.stop()
        except AssertionError as e:
            errors.append(f"stage {key}: {e}")
            stage.kill()
    assert not errors, "\n".join(errors)


@pytest.fixture
def stages(stage_cache, session_folder, request):
    """stages(splice, threads): a running system with servers of all families."""
    used = []

    def get(splice, threads):
        threads = int(THREADS or threads)
        key = (splice, threads)
        if key not in stage_cache:
            folder = tempfile.mkdtemp(prefix="g", dir=session_folder)
            stage_cache[key] = Stage(folder, splice, threads)
        if key not in used:
            used.append(key)
        return stage_cache[key]

    yield get
    for key in used:
        stage = stage_cache[key]
        stage.close_peers()
        try:
            if not passed(request):
                stage_cache.pop(key).kill()
                continue
            stage.check()
        except BaseException:
            stage_cache.pop(key).kill()
            raise


@pytest.fixture
def folder(session_folder):
    path = tempfile.mkdtemp(prefix="t", dir=session_folder)
    os.chmod(path, 0o755)
    return path


@pytest.fixture
def descriptors():
    """descriptors(count): raises the limit to at least `count`, for this process and later daemons."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def need(count):
        if hard < count:
            pytest.skip(f"RLIMIT_NOFILE is {hard}, but {count} descriptors are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))

    yield need
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def closing():
    """A list; what is in it is closed at the end, before the final check."""
    things = []
    yield things
    for thing in things:
        thing.close()


@pytest.fixture
def services():
    """services(talk): a service. Name it before `weir`: it ends after the daemon then."""
    running = []

    def start(talk=None, **kw):
        running.append(service.Service(talk, **kw))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def agents():
    """agents(answer): an agent of servers. Name it before `weir`: it ends after the daemon then."""
    running = []

    def start(answer=b"\n", **kw):
        running.append(Agent(answer, **kw))
        return running[-1]

    yield start
    for one in running:
        one.close()


@pytest.fixture
def programs(folder):
    """Foreign servers. Name it before `weir`."""
    running = Programs(folder)
    yield running
    running.close()


@pytest.fixture
def program(programs):
    """program(argv, count): a foreign server that listens at so many ports, started; the child and its ports.
    argv(port, ...) makes its command line. Name it before `weir`."""
    return programs.start


@pytest.fixture
def weir(session_folder, request):
    """weir(config, ...): starts a daemon for this test; ends with the final check and its exit status.

    `config` consists of whole sections; the [global] that the harness needs is put before them. Keywords:
    global_options (lines), wrapper (a command before the binary), launch_only (do not wait),
    environment, pass_fds (descriptors that the command inherits).
    """
    running = []

    def start(config, global_options="", wrapper=(), launch_only=False, environment=None,
              pass_fds=()):
        where = tempfile.mkdtemp(prefix="d", dir=session_folder)
        os.chmod(where, 0o777)
        lines = {"threads": THREADS or "2", "admin-socket": "unix:@ADMIN@ mode=666", "pipe-cycle": "100ms",
                 "log": "stderr level=info"}
        for line in global_options.splitlines():
            key, _, value = line.partition("=")
            if key.strip():
                lines[key.strip()] = value.strip()
        text = "[global]\n" + "".join(f"{k} = {v}\n" for k, v in lines.items() if v) + config
        daemon = daemons.Daemon(where, text, wrapper, environment, pass_fds)
        running.append(daemon)
        return daemon.launch() if launch_only else daemon.start()

    yield start
    errors = []
    for daemon in running:
        try:
            if passed(request) and not daemon.ended:
                final_check.check(daemon)
                final_check.check_exit(daemon)
            elif passed(request):
                final_check.check_log(daemon)
        except AssertionError as e:
            errors.append(str(e))
        finally:
            daemon.kill()
    assert not errors, "\n".join(errors)


@pytest.fixture
def network():
    """A network namespace; request it before `weir`, so that it ends after the daemon."""
    if netns.missing():
        pytest.skip(netns.missing())
    space = netns.Netns()
    yield space
    space.close()


@pytest.fixture
def pair_servers(programs):
    """Servers of pairs: they end after the daemon, which may be checking them."""
    running = []
    yield running
    for one in running:
        one.close_servers()


@pytest.fixture
def pair(programs, pair_servers, weir, folder):
    """pair(program, text, ...): HAProxy or nginx with this text, and weir with what is converted of it."""
    running = []

    def start(program, text, **kw):
        running.append(original.Pair(program, folder, pair_servers, **kw))
        return running[-1].start(text, programs, weir)

    yield start
    for one in running:
        one.close()


class Peers:
    """Clients and servers of one test, closed at its end, before the final check."""

    def __init__(self, folder):
        self.folder = folder
        self.things = []

    def listen(self, family="tcp4", **kw):
        return self.keep(peer.Listener(family, self.folder, **kw))

    def connect(self, where, **kw):
        return self.keep(peer.connect(where, next_conn(), **kw))

    def accept(self, listener, patience=None, skip_silent=False):
        return self.keep(listener.accept_peer(patience, skip_silent))

    def pair(self, where, listener, skip_silent=False, **kw):
        """A connection through the daemon: its client and its server."""
        client = self.connect(where, **kw)
        server = self.accept(listener, skip_silent=skip_silent)
        assert server.conn == client.conn, f"expected connection {client.conn}, got {server.conn}"
        return client, server

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def close(self):
        for thing in self.things:
            thing.close()
        self.things.clear()


@pytest.fixture
def peers(weir, folder):
    """Depends on `weir` so that peers close before the daemon's final check."""
    group = Peers(folder)
    yield group
    group.close()
