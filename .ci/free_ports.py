"""Ports of this machine on which nobody listens yet."""

import contextlib
import random
import socket


def free_ports(count):
    """So many ports, no two of them the same. None of those that the system gives to connections: whoever looks for a port of that kind before anybody
    listens there may be connected with itself, and then nobody can listen."""
    ports = []
    with contextlib.ExitStack() as stack:
        for port in random.sample(range(15_000, 30_000), 2_000):
            listener = stack.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise SystemExit("too few ports of 127.0.0.1 between 15000 and 30000 are free")
