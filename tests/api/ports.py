# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that must be told theirs.

The kernel gives ports of net.ipv4.ip_local_port_range to outgoing connections and to whoever asks for any: one that is
free now may be taken a moment later, and one whose server restarts may be taken meanwhile. The ports of here lie outside
of that range. Each is this program's until it ends, or gives all of them back, so that test programs that run side by
side get different ones.
"""
import errno
import random
import socket

RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
FIRST, END = 10000, 65536
_kept = []


def _is_ours(port):
    """Whether the name that stands for the port was still free. Such a name goes with the process, and is known in the
    same network namespace as the port."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0bayesd-test-port-{port}")
    except OSError:
        name.close()
        return False
    _kept.append(name)
    return True


def _is_taken(port):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((address, port))
        except OSError as error:  # of other kinds: a machine without IPv6
            if error.errno == errno.EADDRINUSE:
                return True
    return False


def free_port():
    """A port of 127.0.0.1 and ::1 on which nobody listens, and that nobody is given meanwhile."""
    with open(RANGE, encoding="ascii") as file:
        low, high = map(int, file.read().split())
    ports = [port for port in range(FIRST, END) if not low <= port <= high]
    for port in random.SystemRandom().sample(ports, len(ports)):
        if _is_ours(port) and not _is_taken(port):
            return port
    raise AssertionError("no port is free")


def give_back():
    """For a program that has stopped all its servers: a port costs it a descriptor."""
    while _kept:
        _kept.pop().close()


if __name__ == "__main__":
    print(free_port())
