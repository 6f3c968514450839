# SPDX-License-Identifier: MIT
"""Danger: a tool that exists does not understand what weir shows, or reads another number than weir means; an
alert can never fire, or a panel stays empty, because a scrape lacks what it asks for.

The tools are in Debian's packages prometheus (with promtool), prometheus-haproxy-exporter and
python3-prometheus-client.
"""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.parse

import pytest

from harness import address, exchange
from harness.daemon import REPOSITORY
from harness.timing import SCALE, wait_until

sys.path.append(os.path.join(REPOSITORY, "tests", "monitoring"))
import queries  # noqa: E402

SCOPES = ("global", "frontend", "backend", "server", "worker")
PATHS = [f"/metrics?names={names}{rest}" for names in ("weir", "haproxy")
         for rest in ("", "&no-maint", *(f"&scope={scope}" for scope in SCOPES))]
PATHS.remove("/metrics?names=haproxy&scope=worker")  # HAProxy has none
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
# Only exported where the kernel, or a limit of the control group, provides them.
OF_THE_MACHINE = {"weir_process_memory_used_bytes", "weir_process_memory_limit_bytes",
                  "weir_process_tcp_memory_aborts_total"}
# A Prometheus on a busy machine.
PATIENCE = 30 * SCALE


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


def import_parser(name):
    return pytest.importorskip(f"prometheus_client.{name}",
                               reason="python3-prometheus-client is not installed")


def ask(host, path, headers=None, **words):
    """(status, body)"""
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    try:
        connection.request("GET", path + ("?" + urllib.parse.urlencode(words) if words else ""),
                           headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def get(host, path, headers=None, **words):
    """The body of an answer that is not an error."""
    status, body = ask(host, path, headers, **words)
    assert status == 200, (path, words, body)
    return body


@pytest.fixture
def watched(weir, peers):
    """A daemon with a server that works, one that refuses connections and one in maintenance, a few sessions,
    and `http`, the address of its endpoint."""
    listener = peers.listen()
    holder, refusing = address.hold("tcp4")
    peers.keep(holder)
    daemon = weir("[stats]\nbind = 127.0.0.1:0\n"
                  "[listen web]\nbind = 127.0.0.1:0\nmaxconn = 100\nretries = 1\n"
                  f"server a = {listener.address}\nserver b = {refusing}\n"
                  f"server c = {listener.address} disabled\n")
    daemon.http = re.search(r"the HTTP endpoint is at (\S+)", daemon.log())[1]

    def serve():
        pairs = [peers.pair(daemon.address("web"), listener) for _ in range(3)]
        exchange.crossed(pairs[:2], 100_000)
        pairs[2][0].reset()
        wait_until(lambda: daemon.info()["sessions"] == 0, "the sessions end")
    daemon.serve = serve
    serve()
    return daemon


# ---- what tools think of a scrape ----

def promtool_says(text):
    got = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                         timeout=60, check=False)
    return got.stdout + got.stderr if got.returncode == 0 else f"{got.returncode}: {got.stdout}{got.stderr}"


@needs("promtool")
def test_promtool_finds_no_mistake(watched):
    texts = {path: get(watched.http, path) for path in PATHS}
    assert {path: promtool_says(text) for path, text in texts.items()} == dict.fromkeys(PATHS, "")
    assert "counter" in promtool_says(texts[PATHS[0]].replace("_accepted_total", "_accepted"))


def samples(families):
    """{(name, labels): value}"""
    return {(s.name, tuple(s.labels.items())): s.value for family in families for s in family.samples}


def test_an_openmetrics_parser_reads_what_prometheus_reads(watched):
    parser, strict = import_parser("parser"), import_parser("openmetrics.parser")
    for path in PATHS:
        text = get(watched.http, path, OPENMETRICS)
        plain = samples(parser.text_string_to_metric_families(get(watched.http, path)))
        assert samples(strict.text_string_to_metric_families(text)).keys() == plain.keys() != set()
    with pytest.raises(ValueError):
        samples(strict.text_string_to_metric_families(text.removesuffix("# EOF\n")))


class Program:
    """A program of Go's exporter toolkit; `host` is where it listens."""

    def __init__(self, folder, *words):
        self.log_path = os.path.join(folder, words[0] + ".log")
        with open(self.log_path, "wb") as log:
            self.child = subprocess.Popen(
                [*words, "--web.listen-address=127.0.0.1:0"], env={**os.environ, "GOMAXPROCS": "1"},
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.host = None

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()

    def wait_listening(self):
        def host():
            assert self.child.poll() is None, self.log()
            found = re.search(r'msg="Listening on" address=(\S+)', self.log())
            return found and found[1]
        self.host = wait_until(host, self.log, PATIENCE)

    def close(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


# ---- HAProxy's exporter ----

# What ?names=haproxy and the exporter call differently.
RENAMED = {"current_server": "active_servers", "server_selected_total": "loadbalanced_total",
           **{f"http_{what}_time_average_seconds": f"{what}_time_average_seconds"
              for what in ("queue", "connect", "response", "total")}}
# What our own names have in other words. A session of ours is started, HAProxy's at a server is connected.
OWN = {"current_server": "active_servers", "server_selected_total": "loadbalanced_total",
       "http_queue_time_average_seconds": "queue_time_average_seconds",
       "http_connect_time_average_seconds": "connect_time_average_seconds",
       "http_total_time_average_seconds": "session_time_average_seconds"}
OWN_SERVER = {**OWN, "sessions_total": "connections_total"}
# Of HTTP, or not of an object.
NOT_OURS = {"http_response_time_average_seconds", "response_errors_total", "request_errors_total",
            "requests_denied_total", "check_duration_seconds"}
BACKEND_ONLY_HAPROXY = {"weight", "limit_sessions"}
MOVING = {"current_session_rate"}  # of the second before the scrape
NOT_ZERO = {"bytes_in_total", "bytes_out_total", "sessions_total", "client_aborts_total", "max_sessions",
            "connection_errors_total", "retry_warnings_total", "redispatch_warnings_total", "up",
            "downtime_seconds_total"}


def is_near(theirs, ours, what):
    if what == "downtime_seconds_total":
        return theirs <= ours < theirs + 1 + SCALE  # whole seconds, and read before
    return abs(theirs - ours) < (0.001 if "seconds" in what else 1e-9)


@needs("prometheus-haproxy-exporter")
def test_haproxys_exporter_reads_the_same_numbers(watched, folder, closing):
    parser = import_parser("parser")
    exporter = Program(folder, "prometheus-haproxy-exporter",
                       f"--haproxy.scrape-uri=http://{watched.http}/;csv")
    closing.append(exporter)
    exporter.wait_listening()

    def read(host, names=""):
        found = parser.text_string_to_metric_families(get(host, "/metrics" + names))
        return {(name, tuple(label for _, label in labels)): value
                for (name, labels), value in samples(found).items()}
    downtime = "haproxy_server_downtime_seconds_total", ("web", "c")
    wait_until(lambda: read(exporter.host)[downtime] > 0, "a second passes")
    # Until then HAProxy's highest rate may be that of a part of two seconds, and falls.
    wait_until(lambda: not any(value for (name, _), value in read(exporter.host).items()
                               if name.endswith("_current_session_rate")), "nobody has come lately")
    theirs, as_haproxy, own = read(exporter.host), read(watched.http, "?names=haproxy"), read(watched.http)
    assert theirs["haproxy_up", ()] == 1 and theirs["haproxy_exporter_csv_parse_failures_total", ()] == 0
    different, not_zero = [], set()
    for (name, labels), value in theirs.items():
        match = re.fullmatch(r"haproxy_(frontend|backend|server)_(\w+)", name)
        if not match:
            continue
        whose, what = match.groups()
        if value:
            not_zero.add(what)
        if what in MOVING:
            continue
        if what == "up":
            promex = as_haproxy[f"haproxy_{whose}_status", (*labels, "UP")]
        else:
            promex = as_haproxy[f"haproxy_{whose}_{RENAMED.get(what, what)}", labels]
        ours = promex
        if what not in NOT_OURS and not (whose == "backend" and what in BACKEND_ONLY_HAPROXY):
            ours = own[f"weir_{whose}_{(OWN_SERVER if whose == 'server' else OWN).get(what, what)}", labels]
        if not is_near(value, promex, what) or not is_near(value, ours, what):
            different.append((name, labels, value, promex, ours))
    assert different == []
    assert NOT_ZERO - not_zero == set()


# ---- Prometheus ----

# One for what happens to servers, one for what happens to the daemon.
FIRED = {"WeirBackendWithoutServer", "WeirReloadRefused"}


class Prometheus(Program):
    """A Prometheus that scrapes `target` four times a second, with our rules; those in FIRED do not wait."""

    def __init__(self, folder, target):
        rules = queries.yaml.safe_load(queries.read(queries.RULES))
        for group in rules["groups"]:
            for rule in group["rules"]:
                if rule["alert"] in FIRED:
                    rule["for"] = "0s"
        config = {"global": {"scrape_interval": "250ms", "scrape_timeout": "250ms",
                             "evaluation_interval": "250ms"},
                  "rule_files": ["rules.yml"],
                  "scrape_configs": [{"job_name": "weir", "static_configs": [{"targets": [target]}]}]}
        for name, text in (("rules.yml", rules), ("prometheus.yml", config)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                queries.yaml.safe_dump(text, f)
        super().__init__(folder, "prometheus", f"--config.file={folder}/prometheus.yml",
                         f"--storage.tsdb.path={folder}/data")
        self.wait_listening()
        wait_until(lambda: ask(self.host, "/-/ready")[0] == 200, self.log, PATIENCE)

    def query(self, expr):
        """The series that have a value."""
        found = json.loads(get(self.host, "/api/v1/query", query=expr))["data"]["result"]
        return [series for series in found if series["value"][1] != "NaN"]

    def firing(self):
        """{name: text} of the alerts that fire now."""
        alerts = json.loads(get(self.host, "/api/v1/alerts"))["data"]["alerts"]
        return {a["labels"]["alertname"]: " ".join(a["annotations"].values())
                for a in alerts if a["state"] == "firing"}

    def wait_firing(self, *names):
        """Until these fire, and no others; returns what they say."""
        wait_until(lambda: self.firing().keys() == set(names),
                   lambda: f"{names}, not {self.firing()}", PATIENCE)
        return " ".join(self.firing().values())


def empty(prometheus, names):
    """What a panel or an alert asks for and does not get."""
    panels = [q for q in queries.queries() if not q.where.startswith("alert") and
              not {name for name, *_ in queries.metrics(q.expr)} & OF_THE_MACHINE]
    return [name for name in sorted(names - OF_THE_MACHINE) if not prometheus.query(name)] + \
        [q for q in panels if not prometheus.query(queries.chosen(q.expr, "10s"))]


@needs("prometheus")
def test_prometheus_has_each_value_and_its_alerts_fire_and_end(watched, folder, closing):
    """One test, because its start is costly."""
    prometheus = Prometheus(folder, watched.http)
    closing.append(prometheus)
    wait_until(lambda: prometheus.query("up == 1"), prometheus.log, PATIENCE)
    watched.serve()
    watched.reload()
    names = {name for q in queries.queries() for name, *_ in queries.metrics(q.expr)}
    assert len(names) > 60
    wait_until(lambda: not empty(prometheus, names), lambda: str(empty(prometheus, names)), PATIENCE)
    prometheus.wait_firing()

    watched.expected_alarms = "alert backend web has no server left"
    for server in "ab":
        watched.ask(f"set server web/{server} state maint")
    # An operator knows of servers in maintenance.
    text = prometheus.wait_firing("WeirBackendWithoutServer")
    assert f"backend web on {watched.http} has no usable server" in text and "<no value>" not in text
    for server in "ab":
        watched.ask(f"set server web/{server} state ready")
    prometheus.wait_firing()

    good = watched.config
    watched.reload(good + "[listen bad]\nbind = nonsense\n", refused=True)
    prometheus.wait_firing("WeirReloadRefused")
    watched.reload(good)
    prometheus.wait_firing()


def test_seconds_are_seconds(watched):
    """A value in another unit would be wrong by a factor of a thousand at least."""
    values = {m[1]: float(m[2]) for m in re.finditer(
        r"(?m)^(weir_\w+_seconds(?:_total)?)(?:\{.*\})? (\S+)$", get(watched.http, "/metrics"))}
    assert len(values) > 5
    now = values["weir_process_start_time_seconds"] + values["weir_process_uptime_seconds"]
    for name, value in values.items():
        assert value <= (now + 60 if "time" in name and "uptime" not in name else 3600 * 8), (name, value)
