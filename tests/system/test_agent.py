# SPDX-License-Identifier: MIT
"""Danger: an agent takes out a server that it did not mean, is not heard, or overrides an administrator."""

import json
import shutil
import time

import pytest

from harness import trace
from harness.checked import Haproxy, lasting, row_of, rows, wait_row
from harness.service import Service
from harness.timing import stays, wait_until

EVERY = "100ms"


@pytest.fixture
def asking(weir, peers):
    """asking(agent, words, *lines): a daemon with the server `s`, its agent, and lines of its section."""
    def start(agent, words="", *lines):
        server = peers.listen()
        text = (f"[listen l]\nbind = 127.0.0.1:0\nbalance = roundrobin\ncheck-agent = {agent.port}\n"
                f"check-agent-interval = {EVERY}\n" + "".join(f"{line}\n" for line in lines) +
                f"server s = {server.address} weight=100 maxconn=50{words}\n")
        daemon = weir(text)
        daemon.expected_alarms = "has no server left"
        return lasting(daemon)
    return start


# ---- beside HAProxy ----

ANSWERS = (
    b"\n", b"\r\n", b"up\n", b"down\n", b"down # disk full\n", b"up # fine\n", b"fail\n", b"fail#x\n",
    b"stopped\n", b"50%\n", b"0%\n", b"100%\n", b"200%\n", b"99999%\n", b"99999999999999999999999%\n",
    b"007%\n", b"50%x\n", b"5x%\n", b"500x%\n", b"-5%\n", b"+5%\n", b"50\n", b"%\n", b"weight:50%\n",
    b"maxconn:10\n", b"maxconn:\n", b"maxconn:x\n", b"maxconn:5x\n", b"MAXCONN:7\n", b"maxconn:0\n",
    b"drain\n", b"maint\n", b"ready\n", b"ready,up,75%,maxconn:30\n", b"up down\n", b"down up\n",
    b"bogus\n", b"up bogus\n", b"down bogus\n", b"Down\n", b"up\r\ndown\n", b"up", b"do\0wn\n", b"\0\n",
    b"# only\n", b"up,#,a,b\n", b"drain maint\n", b"maint,ready\n", b"drain down # why\n",
    b"50% maxconn:x bogus up\n", b"25% 75%\n", b"up\ttabs,50%\n", b",,,  \tup\n", b"updown\n",
    b"\xff\xfe up\n", b"up\nmaint\n", b"up " + b"x" * 300 + b"\n")

COMPARED = ("status", "weight", "uweight", "slim", "agent_status", "agent_code", "agent_desc", "agent_rise",
            "agent_fall", "agent_health")


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="no haproxy to compare with: apt install haproxy")
def test_each_answer_has_the_effect_that_it_has_in_haproxy(agents, weir, folder):
    said = [agents(answer) for answer in ANSWERS]
    servers = "".join(f"server s{i} = 127.0.0.1:9 weight=100 maxconn=50 check-agent={agent.port}\n"
                      for i, agent in enumerate(said))
    ours = lasting(weir("[listen l]\nbind = 127.0.0.1:0\nbalance = roundrobin\n"
                        f"check-agent-interval = {EVERY}\n{servers}"))
    theirs = Haproxy(folder, ["balance roundrobin"] +
                     [f"server s{i} 127.0.0.1:9 weight 100 maxconn 50 agent-check agent-port {agent.port} "
                      "agent-inter 100ms" for i, agent in enumerate(said)])
    try:
        seen = {}

        def same():
            """A question may be under way, and the first answers are still to come."""
            seen.update(ours=rows(ours.ask("show stat")), theirs=rows(theirs.ask("show stat")))
            return not differences(seen["ours"], seen["theirs"])

        wait_until(lambda: all(agent.asked >= 6 for agent in said), "every agent has been asked by both")
        wait_until(same, lambda: "\n".join(differences(seen["ours"], seen["theirs"])))
    finally:
        theirs.close()
    ours.reload(f"check-agent-interval = {EVERY}", "check-agent-interval = 1h", words=())


def differences(ours, theirs):
    """An INI or a `*` is a question under way."""
    found = []
    for i, answer in enumerate(ANSWERS):
        pairs = {k: (ours[f"s{i}"][k].replace("* ", ""), theirs[f"s{i}"][k].replace("* ", ""))
                 for k in COMPARED}
        found += [f"{answer[:30]}: {k}: ours {a!r}, theirs {b!r}" for k, (a, b) in pairs.items()
                  if a != b or a == "INI"]
    return found


# ---- what it may do, and what not ----

def test_words_come_and_stay_until_others_come(agents, asking):
    agent = agents(b"ready up 50% maxconn:7\n")
    daemon = asking(agent)
    wait_row(daemon, "s", status="no check", weight="50", slim="7", agent_status=r"(\* )?L7OK")
    agent.say(b"drain\n")
    wait_row(daemon, "s", status=r"DRAIN \(agent\)", weight="50", slim="7")
    agent.say(b"down # disk full\n")
    wait_row(daemon, "s", status=r"DOWN \(agent\)", agent_health="0", last_agt=r".*\(disk full\)")
    agent.say(b"ready\n")
    wait_row(daemon, "s", status=r"DOWN \(agent\)")
    assert "agent: down # disk full" in daemon.ask("show servers history l/s")
    agent.say(b"100% up\n")
    wait_row(daemon, "s", status="no check", weight="100", slim="7")


def test_an_agent_that_is_gone_changes_nothing_and_shows(agents, asking):
    agent = agents(b"50% drain\n")
    daemon = asking(agent)
    wait_row(daemon, "s", status=r"DRAIN \(agent\)", weight="50")
    agent.die()
    wait_row(daemon, "s", agent_status=r"(\* )?L4CON", status=r"DRAIN \(agent\)", weight="50")
    agent.start()
    agent.say(b"ready\n")
    wait_row(daemon, "s", status="no check", weight="50")


@pytest.mark.parametrize("command, answer, column, set_, agents_", [
    ("set server l/s weight 30", b"50%\n", "weight", "30", "50"),
    ("set maxconn server l/s 20", b"maxconn:7\n", "slim", "20", "7"),
    ("set server l/s state drain", b"maint\n", "status", "DRAIN", "MAINT"),
    ("set server l/s state maint", b"ready\n", "status", "MAINT", "no check"),
])
def test_what_an_administrator_sets_goes_first(agents, asking, command, answer, column, set_, agents_):
    agent = agents(b"\n")
    daemon = asking(agent)
    assert daemon.ask(command).strip() == ""
    wait_row(daemon, "s", **{column: set_})
    agent.say(answer)
    agent.say(answer)
    assert row_of(daemon, "s")[column] == set_
    back = {"weight": "set server l/s weight 100%", "slim": "set maxconn server l/s 50",
            "status": "set server l/s state ready"}[column]
    assert daemon.ask(back).strip() == ""
    wait_row(daemon, "s", **{column: agents_})  # each of its answers may have come too late so far
    assert json.loads(daemon.ask("config diff json")) == []


def test_a_disabled_agent_counts_for_nothing_and_is_not_asked(agents, asking):
    agent = agents(b"25% maint\n")
    daemon = asking(agent)
    wait_row(daemon, "s", status="MAINT", weight="25")
    assert "'disable agent'" in daemon.ask("why l")
    assert daemon.ask("disable agent l/s").strip() == ""
    row = row_of(daemon, "s")
    assert (row["status"], row["weight"], row["agent_status"]) == ("no check", "100", "")
    # Questions that weir has given up may still wait to be accepted.
    wait_until(lambda: stays(lambda before=agent.asked: agent.asked == before, 0.3), "no more questions")
    assert daemon.ask("set server l/s agent up").strip() != ""
    assert daemon.ask("enable agent l/s").strip() == ""
    wait_row(daemon, "s", status="MAINT", weight="25")


def test_up_and_down_may_be_said_for_it(agents, asking):
    agent = agents(b"\n")
    daemon = asking(agent)
    assert daemon.ask("set server l/s agent down").strip() == ""
    assert row_of(daemon, "s")["status"] == "DOWN (agent)"
    assert "up, or down" in daemon.ask("set server l/s agent sideways")
    agent.say(b"\n")
    assert row_of(daemon, "s")["status"] == "DOWN (agent)"
    assert daemon.ask("set server l/s agent up").strip() == ""
    assert row_of(daemon, "s")["status"] == "no check"


def test_health_check_and_agent_must_both_agree(agents, weir):
    checked = Service()
    agent = agents(b"down\n")
    daemon = lasting(weir("[listen l]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 50ms\n"
                          f"check-fall = 1\ncheck-rise = 1\nserver s = {checked.address} "
                          f"check-agent={agent.port}\n"))
    daemon.expected_alarms = "has no server left"
    wait_row(daemon, "s", status=r"DOWN \(agent\)", check_status=r"(\* )?L4OK")
    checked.die()
    wait_row(daemon, "s", status=r"DOWN \(agent\)", check_status=r"(\* )?L4CON")
    agent.say(b"up\n")
    wait_row(daemon, "s", status="DOWN", agent_status=r"(\* )?L7OK")
    checked.start()
    wait_row(daemon, "s", status="UP", agent_status=r"(\* )?L7OK")
    daemon.ask("set server l/s state maint")
    daemon.ask("set server l/s state ready")
    wait_row(daemon, "s", status="UP")
    checked.close()


def test_maintenance_by_the_agent_rests_the_health_check(agents, weir):
    checked = Service()
    agent = agents(b"maint\n")
    daemon = lasting(weir("[listen l]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 50ms\n"
                          f"server s = {checked.address} check-agent={agent.port} "
                          "check-agent-interval=50ms\n"))
    daemon.expected_alarms = "has no server left"
    wait_row(daemon, "s", status="MAINT", check_status="")
    wait_until(lambda: stays(lambda before=len(checked.ends): len(checked.ends) == before, 0.3),
               "no more checks")
    agent.say(b"ready\n")
    wait_row(daemon, "s", status="UP", check_status=r"(\* )?L4OK")
    checked.close()


def test_down_closes_sessions_where_that_is_wanted(agents, weir, peers):
    listener = peers.listen()
    agent = agents(b"\n")
    daemon = lasting(weir("[listen l]\nbind = 127.0.0.1:0\non-marked-down = close-sessions\n"
                          f"check-agent = {agent.port}\ncheck-agent-interval = {EVERY}\n"
                          f"server s = {listener.address}\n"))
    daemon.expected_alarms = "has no server left"
    client, _ = peers.pair(daemon.address("l"), listener)
    agent.say(b"drain\n")
    assert daemon.info()["sessions"] == 1
    agent.say(b"down\n")
    assert client.receive_to_end() == "reset"
    agent.say(b"up ready\n")


def test_text_is_sent_first_and_an_agent_may_be_elsewhere(agents, weir):
    one, other = agents(b"up\n", hears=8), agents(b"80%\n", hears=6)
    daemon = lasting(weir("[listen l]\nbind = 127.0.0.1:0\nbalance = roundrobin\ncheck-interval = 50ms\n"
                          f"check-agent = {one.address}\ncheck-agent-send = \"weight?\\n\"\n"
                          "server s = unix:/nowhere weight=10\n"
                          f"server t = 127.0.0.1:9 weight=10 check-agent={other.port} "
                          "check-agent-send=\"t\\\\ \\t\\x41\\n\"\n"
                          "server u = 127.0.0.1:9 check-agent=off\n"))
    wait_row(daemon, "s", agent_status=r"(\* )?L7OK")
    wait_row(daemon, "t", weight="8")
    assert set(one.heard) == {b"weight?\n"}
    assert set(other.heard) == {b"t\\ \tA\n"}
    assert row_of(daemon, "u")["agent_status"] == ""


# ---- reload ----

def test_a_reload_keeps_what_it_said_and_a_removed_key_gives_it_back(agents, asking):
    agent = agents(b"50% maxconn:5 drain\n")
    daemon = asking(agent)
    wait_row(daemon, "s", status=r"DRAIN \(agent\)", weight="50", slim="5")
    daemon.reload("weight=100", "weight=60", words=())
    row = row_of(daemon, "s")
    assert (row["status"], row["weight"], row["slim"]) == ("DRAIN (agent)", "30", "5")
    daemon.reload(f"check-agent = {agent.port}\ncheck-agent-interval = {EVERY}\n", "", words=())
    row = row_of(daemon, "s")
    assert (row["status"], row["weight"], row["slim"], row["agent_status"]) == ("no check", "60", "50", "")
    assert "its agent is not asked any more" in daemon.ask("show servers history l/s")
    daemon.reload("weight=60", f"weight=60 check-agent={agent.port} check-agent-interval={EVERY}", words=())
    wait_row(daemon, "s", status=r"DRAIN \(agent\)", weight="30", slim="5")
    # From the section to the line of the server: it is the same agent.
    lines = f"check-agent = {agent.port}\nserver s"
    daemon.rewrite("server s", lines)
    daemon.reload(f" check-agent={agent.port}", "", words=())
    assert row_of(daemon, "s")["status"] == "DRAIN (agent)"


def test_a_disabled_agent_stays_so_until_it_is_removed(agents, asking):
    agent = agents(b"50%\n")
    daemon = asking(agent)
    wait_row(daemon, "s", weight="50")
    daemon.ask("disable agent l/s")
    daemon.reload("weight=100", "weight=80", words=())
    assert row_of(daemon, "s")["weight"] == "80"
    assert [item["what"] for item in json.loads(daemon.ask("config diff json"))] == ["agent"]
    lines = f"check-agent = {agent.port}\ncheck-agent-interval = {EVERY}\n"
    daemon.reload(lines, "", words=())
    assert json.loads(daemon.ask("config diff json")) == []
    daemon.reload("balance =", f"{lines}balance =", words=())
    wait_row(daemon, "s", weight="40")


def test_agents_of_added_servers_and_backends(agents, asking):
    agent = agents(b"50%\n")
    daemon = asking(agent)
    wait_row(daemon, "s", weight="50")
    daemon.reload(daemon.config + "server t = 127.0.0.1:9 weight=10\n[listen m]\nbind = 127.0.0.1:0\n"
                  f"check-agent = {agent.port}\nserver x = 127.0.0.1:9 weight=20\n", words=())
    wait_row(daemon, "t", weight="5")
    wait_row(daemon, "x", proxy="m", weight="10")
    daemon.reload(daemon.config.partition("server t")[0], words=())


# ---- cost and malice ----

def test_an_endless_answer_is_cut(weir):
    def flood(sock):
        while True:
            sock.sendall(b"x" * 65536)
    endless = Service(flood)
    silent = Service()
    # Their questions take as long as the interval: they begin once the descriptors have been counted.
    daemon = lasting(weir("[listen l]\nbind = 127.0.0.1:0\ncheck-agent-interval = 1h\n"
                          f"server s = 127.0.0.1:9 check-agent={endless.port}\n"
                          f"server t = 127.0.0.1:9 check-agent={silent.port}\n"))
    daemon.reload("check-agent-interval = 1h", "check-agent-interval = 50ms", words=())
    wait_row(daemon, "s", status="no check", agent_status=r"(\* )?L7TOUT", last_agt="Ignoring incomplete.*")
    wait_row(daemon, "t", status="no check", agent_status=r"(\* )?L7TOUT", last_agt="no answer")
    wait_until(lambda: len(endless.ends) >= 3, "it is asked again")
    daemon.reload("check-agent-interval = 50ms", "check-agent-interval = 1h", words=())
    endless.close()
    silent.close()


def test_a_daemon_without_agents_does_nothing(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver s = {listener.address}\n")
    if trace.missing():
        pytest.skip(f"system calls are not counted: {trace.missing()}")
    wait_until(lambda: daemon.pools()["pipes_made"] == 0, "it rests")
    calls = trace.Trace(daemon.pid, folder)
    time.sleep(0.5)
    count = calls.stop()
    assert not count, f"system calls of an idle daemon within 0.5 s: {dict(count)}"
