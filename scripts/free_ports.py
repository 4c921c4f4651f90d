#!/usr/bin/env python3
"""Prints ports of 127.0.0.1 on which a server may be started a moment later.

  free_ports.py [COUNT]

The ports lie below the range from which the kernel takes the source ports of connections, so that
no connection of another program can take one between this answer and the server's start, nor
while a server is down in a test. Two programs that ask at the same moment get different ports by
chance alone: the choice is random among about 20,000.
"""

import random
import socket
import sys

LOWEST = 10_240


def first_ephemeral_port():
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
            return int(limits.read().split()[0])
    except OSError:
        return 32_768


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """COUNT distinct ports. Raises RuntimeError if there are not that many."""
    end = first_ephemeral_port()
    if end - LOWEST < 1_000:  # A machine that was set up so that the range begins low.
        end = 65_536
    candidates = random.SystemRandom().sample(range(LOWEST, end), end - LOWEST)
    found = []
    for port in candidates:
        if is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"only {len(found)} of {count} ports are free on 127.0.0.1")


if __name__ == "__main__":
    if len(sys.argv) > 2 or not all(word.isdigit() for word in sys.argv[1:]):
        sys.exit(__doc__)
    print(*free_ports(int(sys.argv[1]) if len(sys.argv) == 2 else 1))
