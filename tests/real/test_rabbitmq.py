# SPDX-License-Identifier: MIT
"""RabbitMQ behind rabbitmq.ini: the node of a publisher dies, and every confirmed message arrives."""

import sys
import time

import pytest

import examples
from harness.show_stat import stat
from harness.timing import wait_until
from rabbitmq import RabbitMq
from servers import SLOW, wait_server
from writer import PATIENCE, Writer


@pytest.fixture
def rabbitmq(servers):
    return RabbitMq(servers("rabbitmq"))


@pytest.fixture
def pika(rabbitmq):
    """The client library, from the same tree."""
    sys.path.append(rabbitmq.servers.tree.environment["PYTHONPATH"])
    return pytest.importorskip("pika")


class Publisher:
    """Counts a message when the node has confirmed it."""

    def __init__(self, pika, port):
        self.pika = pika
        try:
            self.link = pika.BlockingConnection(pika.ConnectionParameters(
                "127.0.0.1", port, socket_timeout=PATIENCE, blocked_connection_timeout=PATIENCE, heartbeat=0))
            self.channel = self.link.channel()
            self.channel.confirm_delivery()
        except pika.exceptions.AMQPError as e:
            raise OSError(repr(e)) from e

    def write(self, number):
        try:
            self.channel.basic_publish("", "written", str(number).encode(), mandatory=True)
            return "any"
        except self.pika.exceptions.AMQPError as e:
            raise OSError(repr(e)) from e

    def close(self):
        try:
            self.link.close()
        except self.pika.exceptions.AMQPError:
            pass


def test_a_publisher_moves_to_another_node_when_its_own_dies(rabbitmq, pika, weir):
    where = {f"MQ_{n}": f"127.0.0.1:{port}" for n, port in enumerate(rabbitmq.ports, 1)}
    config, options = examples.load("rabbitmq.ini", "server mq3      = ${MQ_3:-10.0.0.53:5672}\n", "")
    daemon = weir(config, options, environment=where)
    port = daemon.address("amqp").port
    for n in (1, 2):
        wait_server(daemon, "amqp", f"mq{n}", "UP")

    # The queue is on the node that survives.
    straight = Publisher(pika, rabbitmq.ports[1])
    straight.channel.queue_declare("written", durable=True)
    # With one connection to each node, the publisher is on one of them.
    pair = [Publisher(pika, port), Publisher(pika, port)]
    assert [int(stat_of(daemon, f"mq{n}", "scur")) for n in (1, 2)] == [1, 1]
    for one in pair:
        one.close()

    wait_until(lambda: all(stat_of(daemon, f"mq{n}", "scur") == "0" for n in (1, 2)), "no sessions")
    daemon.ask("disable server amqp/mq2")
    writer = Writer(lambda: Publisher(pika, port))
    writer.wait_for("any")
    daemon.ask("enable server amqp/mq2")
    wait_server(daemon, "amqp", "mq2", "UP")
    assert stat_of(daemon, "mq1", "scur") == "1"
    rabbitmq.crash(rabbitmq.ports[0])
    wait_until(lambda: stat_of(daemon, "mq2", "scur") == "1", lambda: f"the publisher moves: {writer.errors}",
               SLOW)
    writer.wait_for("any")
    wait_server(daemon, "amqp", "mq1", "DOWN")
    writer.stop()

    arrived, end = set(), time.monotonic() + SLOW
    for method, _, body in straight.channel.consume("written", auto_ack=True, inactivity_timeout=1):
        if method is not None:
            arrived.add(int(body))
        elif set(writer.confirmed) <= arrived or time.monotonic() >= end:
            break
    straight.close()
    assert "handshake" not in rabbitmq.servers.log("mq2"), "the checks are in the log of RabbitMQ"
    lost = set(writer.confirmed) - arrived
    assert not lost, f"{len(lost)} confirmed messages are lost: the first is {min(lost)}"


def stat_of(daemon, server, column):
    return stat(daemon, server, "amqp")[column]
