"""Stands in for Ray's Python API: the nodes that joined the head in this pod."""

import socket


def init(address, log_to_driver):
    assert address == "auto"


def nodes():
    with socket.create_connection(("127.0.0.1", 6379), 5) as connection:
        connection.sendall(b"count\n")
        return [{"Alive": True}] * int(connection.makefile().readline())
