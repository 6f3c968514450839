# SPDX-License-Identifier: MIT
"""Postfix and Dovecot behind mail.ini: they see the client's address, and mail arrives as it was sent."""

import email
import imaplib
import os
import smtplib
import socket

import pytest

import examples
from mail import Mail
from servers import wait_server
from writer import PATIENCE

CLIENT, REFUSED = "127.0.0.77", "127.0.0.78"


@pytest.fixture
def mail(servers):
    return Mail(servers("mail"))


class Imap(imaplib.IMAP4):
    """From an address of its own."""

    def _create_socket(self, timeout):
        return socket.create_connection((self.host, self.port), PATIENCE, (CLIENT, 0))


def start(weir, mail):
    config, options = examples.load(
        "mail.ini", ":10025", f":{mail.smtp}", ":10587", f":{mail.submission}", ":10143", f":{mail.imap}")
    daemon = weir(config, options)
    for proxy in ("smtp", "submission", "imap"):
        wait_server(daemon, proxy, "mail1", "UP")
        wait_server(daemon, proxy, "mail2", "DOWN")
    return daemon


def send(port, name, body, source=CLIENT):
    with smtplib.SMTP("127.0.0.1", port, "client.example.test", PATIENCE, (source, 0)) as client:
        client.sendmail("bob@example.test", ["alice@example.test"], f"Subject: {name}\r\n\r\n{body}")


def test_mail_arrives_and_the_servers_see_the_client(mail, weir):
    daemon = start(weir, mail)
    body = "\r\n".join(os.urandom(36).hex() for _ in range(40000)) + "\r\n"
    send(daemon.address("smtp").port, "through-postscreen", "short\r\n")
    send(daemon.address("submission").port, "straight", body)
    mail.wait_for_log("postfix", f"CONNECT from [{CLIENT}]")
    mail.wait_for_log("postfix", f"PASS NEW [{CLIENT}]")
    for _ in range(2):
        mail.wait_for_log("postfix", "status=sent")

    client = Imap("127.0.0.1", daemon.address("imap").port, PATIENCE)
    client.login("alice", "secret")
    found = {}
    while len(found) < 2:
        _, (count,) = client.select()
        for n in range(1, int(count) + 1):
            _, parts = client.fetch(str(n), "(RFC822)")
            message = email.message_from_bytes(parts[0][1])
            found[message["Subject"]] = message
    assert client.logout()[0] == "BYE"
    assert f"[{CLIENT}]" in found["through-postscreen"]["Received"]
    assert f"[{CLIENT}]" in found["straight"]["Received"]
    assert found["straight"].get_payload() == body
    mail.wait_for_log("dovecot", f"rip={CLIENT}")


def test_postscreen_refuses_a_client_by_its_address(mail, weir):
    daemon = start(weir, mail)
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        send(daemon.address("smtp").port, "no", "", REFUSED)
    assert refused.value.recipients["alice@example.test"][0] == 550
    mail.wait_for_log("postfix", f"DENYLISTED [{REFUSED}]")
