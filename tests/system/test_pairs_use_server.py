# SPDX-License-Identifier: MIT
"""Danger: after a conversion from HAProxy, a client reaches another server than use-server says: a host that
serves other things, or one that is down."""

from harness.hello import hello
from harness.original import near
from harness.show_stat import NO_SERVER
from harness.timing import wait_until
from test_pairs_balance import TIMES

NAMES = ("a.example.com", "b.example.com", "other.org", None)


def reached(side, bind="f", source=None, count=6):
    """The servers that answer clients of each name, and one that does not speak TLS."""
    return {name: sorted(set(side.labels(count, bind, source, hello(name)))) for name in NAMES} | {
        "plain": sorted(set(side.labels(count, bind, source, b"no TLS at all")))}


def falls_and_rises(side, label, name, others, bind="f"):
    """Who is reached under the name while the server is down, and once it is back."""
    def found():
        return sorted(set(side.labels(6, bind, data=hello(name))))
    side[label].die()
    wait_until(lambda: found() == others, lambda: f"{label} is out: {found()}")
    down = reached(side, bind)
    side[label].start()
    wait_until(lambda: found() == [label], lambda: f"{label} is back: {found()}")
    return down, reached(side, bind)


def test_a_client_reaches_the_server_of_its_rule(pair):
    p = pair("haproxy", TIMES + """
frontend tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    default_backend pool
backend pool
    acl is_a req.ssl_sni -i a.example.com
    acl is_b req.ssl_sni -i b.example.com
    use-server a if is_a
    use-server b if is_b
    use-server c if !is_a !is_b
    server a <a> check inter 100ms fall 1 rise 1
    server b <b> check inter 100ms fall 1 rise 1
    server c <c>
""", servers="a b c", alarms=NO_SERVER)

    def scenario(side):
        return reached(side), falls_and_rises(side, "a", NAMES[0], ["b", "c"])
    before = dict(zip([*NAMES, "plain"], (["a"], ["b"], ["c"], ["c"], ["c"])))
    assert p.same(scenario) == (before, (before | {NAMES[0]: ["b", "c"]}, before))
    assert all(line["state"] in ("carried", "no-effect") for line in p.report["lines"])


def test_servers_of_no_weight_are_for_their_rules_alone(pair):
    p = pair("haproxy", TIMES + """
listen tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use_backend plain if { dst_port 1 }
    use-server a if { req.ssl_sni -i a.example.com }
    use-server b if { req.ssl_sni -i b.example.com }
    server a <a> weight 0 check inter 100ms fall 1 rise 1
    server b <b> weight 0 backup
    server c <c> check inter 100ms
    server d <d> check inter 100ms
backend plain
    server d <d>
""", servers="a b c d", alarms=NO_SERVER)

    def scenario(side):
        return reached(side), falls_and_rises(side, "a", NAMES[0], ["c", "d"])
    rest = ["c", "d"]
    before = dict(zip([*NAMES, "plain"], (["a"], ["b"], rest, rest, rest)))
    assert p.same(scenario) == (before, (before | {NAMES[0]: rest}, before))


def test_a_rule_holds_for_clients_that_a_line_sends_there(pair):
    p = pair("haproxy", TIMES + """
frontend tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use_backend pool if { src 127.0.8.0/24 }
    default_backend rest
backend pool
    use-server a if { req.ssl_sni -i a.example.com }
    use-server b unless { req.ssl_sni -i b.example.com }
    server a <a>
    server b <b>
backend rest
    use-server d if { req.ssl_sni -i a.example.com }
    server c <c> weight 100
    server d <d> weight 0
""", servers="a b c d")

    def scenario(side):
        return reached(side, source="127.0.8.1"), reached(side)
    first = dict(zip([*NAMES, "plain"], (["a"], ["a", "b"], ["b"], ["b"], ["b"])))
    second = dict(zip([*NAMES, "plain"], (["d"], ["c"], ["c"], ["c"], ["c"])))
    assert p.same(scenario) == (first, second)


def test_the_next_rule_counts_while_a_server_is_down(pair):
    p = pair("haproxy", TIMES + """
listen tls
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use-server a if { req.ssl_sni -i a.example.com }
    use-server b if { req.ssl_sni -i a.example.com }
    use-server d if TRUE
    server a <a> check inter 100ms fall 1 rise 1
    server b <b> check inter 100ms fall 1 rise 1
    server c <c> check inter 100ms fall 1 rise 1
    server d <d> check inter 100ms fall 1 rise 1
""", servers="a b c d", alarms=NO_SERVER)

    def scenario(side):
        first = falls_and_rises(side, "a", NAMES[0], ["b"])
        side["b"].die()
        wait_until(lambda: set(side.labels(6, data=hello(NAMES[0]))) == {"a"}, "a is there")
        second = falls_and_rises(side, "a", NAMES[0], ["d"])
        return first, second, falls_and_rises(side, "d", NAMES[2], ["a", "c"])
    first, second, third = p.same(scenario)
    assert first[0][NAMES[0]] == ["b"] and second[0][NAMES[0]] == ["d"] and third[0][NAMES[0]] == ["a"]
    assert third[0]["plain"] == ["a", "c"] and first[1] == third[1]


def test_a_server_in_two_sections_is_checked_once(pair):
    p = pair("haproxy", TIMES + """
listen tls
    bind <f>
    option tcp-check
    tcp-check expect string probe
    use-server a if { src 127.0.8.0/24 }
    server a <a> check port <probe.port> inter 200ms
    server b <b>
""", servers="a b probe")

    def scenario(side):
        wait_until(lambda: side["probe"].count >= 6, "checks")
        seen = [s.at for s in list(side["probe"].seen)]
        return (seen[5] - seen[1]) / 4, side.label(source="127.0.8.1")
    assert p.same(scenario)[1] == "a"


def test_a_server_that_refuses_a_client_is_its_only_one(pair):
    """The report names it: a redispatch of HAProxy tries the other servers of the section."""
    p = pair("haproxy", TIMES + """
listen tls
    bind <f>
    option redispatch
    retries 2
    use-server a if { src 127.0.8.0/24 }
    server a <a>
    server b <b>
""", servers="a b", alarms=NO_SERVER)

    def scenario(side):
        side["a"].die()
        return side.label(source="127.0.8.1")
    assert p.both(scenario) == ("b", "reset")
    p.named("no other server of 'tls'", line="use-server")


def test_a_client_that_says_nothing_reaches_the_server_that_speaks_first(pair):
    p = pair("haproxy", TIMES + """
frontend all
    bind <f>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    acl ssh_payload payload(0,7) -m bin 5353482d322e30
    use_backend web if { req_ssl_sni -i a.example.com } { req.ssl_hello_type 1 }
    use_backend vpn if { req.ssl_hello_type 1 }
    use_backend ssh if ssh_payload
    use_backend ssh if !{ req.ssl_hello_type 1 } { req.len 0 }
    use_backend other if !{ req.ssl_hello_type 1 } !{ req.len 0 }
frontend some
    bind <g>
    tcp-request inspect-delay 500ms
    tcp-request content accept if { req.ssl_hello_type 1 }
    use_backend ssh if !{ req.ssl_hello_type 1 } { req.len 0 }
    use_backend other if !{ req.ssl_hello_type 1 } !{ req.len 0 }
backend web
    server a <a>
backend vpn
    server b <b>
backend ssh
    server c <c>
backend other
    server d <d>
""", servers="a b c d", binds="f g")

    def scenario(side):
        found = {}
        for bind in "fg":
            silent = side.connect(bind)
            label = silent.label()
            found[bind] = {"named": side.label(bind, data=hello("a.example.com")),
                           "TLS": side.label(bind, data=hello("other.org")),
                           "SSH": side.label(bind, data=b"SSH-2.0-OpenSSH_9.2\r\n"),
                           "other": side.label(bind, data=b"\x00\x01\x02\x03 other bytes"),
                           "silent": (label, silent.took)}
        return found
    found = p.same(scenario)
    waited = found["f"].pop("silent"), found["g"].pop("silent")
    assert found["f"] == {"named": "a", "TLS": "b", "SSH": "c", "other": "d"}
    assert found["g"] == {"named": "fin", "TLS": "fin", "SSH": "d", "other": "d"}
    assert all(label == "c" and near(took, 0.5) for label, took in waited)
    assert all(line["state"] in ("carried", "no-effect") for line in p.report["lines"])
