# SPDX-License-Identifier: Apache-2.0
"""The links between the processes of a test: TCP connections that can be held, delayed and broken, without root.

Each process is told to others by the address of a door: a port of here, behind which its real one is. Whoever comes
through a door is known by the process that holds the other end of the connection (/proc/net/tcp and /proc/PID/fd), so a
link between two processes has two names. A cut link holds the bytes of its connections, and new connections wait: as if
a cable were pulled, where TCP sends again what was lost. Who comes from elsewhere (the test itself) is never held.
"""
import collections
import os
import selectors
import socket
import threading
import time

HELD_MOST = 1 << 20  # bytes that a direction keeps while they are delayed; more stay with who sends them
ELSEWHERE = "elsewhere"


def inode_of(port, peer):
    """Of the socket at 127.0.0.1:port that is connected to 127.0.0.1:peer."""
    want = [f"0100007F:{port:04X}", f"0100007F:{peer:04X}"]
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[1:3] == want:
                return words[9]
    return None


def holds_inode(pid, inode):
    folder, wanted = f"/proc/{pid}/fd", f"socket:[{inode}]"
    try:
        for name in os.listdir(folder):
            try:
                if os.readlink(f"{folder}/{name}") == wanted:
                    return True
            except OSError:  # closed meanwhile
                pass
    except OSError:  # the process is gone
        pass
    return False


class Direction:
    """What goes from one socket to the other."""

    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.held, self.bytes, self.ended = collections.deque(), 0, False

    def take(self, due):
        try:
            data = self.source.recv(65536)
        except BlockingIOError:
            return
        if data:
            self.held.append((due, data))
            self.bytes += len(data)
        else:
            self.ended = True

    def give(self, now):
        """True when all has gone that is due."""
        while self.held and self.held[0][0] <= now:
            due, data = self.held[0]
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                return False
            self.bytes -= sent
            if sent < len(data):
                self.held[0] = (due, data[sent:])
                return False
            self.held.popleft()
        return True


class Pair:
    """A connection from one process to another; `far` is None until it is made."""

    def __init__(self, link, near, target):
        self.link, self.near, self.target, self.far = link, near, target, None
        self.ways = ()

    def connect(self):
        self.far = socket.socket()
        self.far.setblocking(False)
        self.far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.far.connect_ex(("127.0.0.1", self.target))
        self.ways = (Direction(self.near, self.far), Direction(self.far, self.near))

    def close(self):
        for end in (self.near, self.far):
            if end is not None:
                end.close()


class Network(threading.Thread):
    """All doors, served by one thread. The others only change what it reads: sets and numbers under `lock`."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lock = threading.Lock()
        self.doors, self.pids = {}, {}         # {listening socket: (name, target)}, {name: function that gives its pid}
        self.cut_off, self.cut_pairs = set(), set()
        self.delays, self.broken = {}, set()   # {name: seconds}, names whose connections are to be closed
        self.pairs = []
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        self.over = False

    # -- for the test
    def door(self, name, port, target):
        """Opens `port` in front of the port `target` of the process `name`."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
        listener.setblocking(False)
        with self.lock:
            self.doors[listener] = (name, target)
        self.wake()

    def knows(self, name, pid_of):
        self.pids[name] = pid_of

    def change(self, function):
        with self.lock:
            function()
        self.wake()

    def cut(self, name):
        self.change(lambda: self.cut_off.add(name))

    def cut_link(self, a, b):
        self.change(lambda: self.cut_pairs.add(frozenset((a, b))))

    def delay(self, name, seconds):
        self.change(lambda: self.delays.__setitem__(name, seconds))

    def break_connections(self, name):
        """All connections of the process end at once; new ones may be made."""
        self.change(lambda: self.broken.add(name))

    def heal(self):
        def whole():
            self.cut_off.clear()
            self.cut_pairs.clear()
            self.delays.clear()
        self.change(whole)

    def stop(self):
        self.over = True
        self.wake()
        self.join(10)
        if not self.is_alive():
            os.close(self.wake_read)
            os.close(self.wake_write)

    def wake(self):
        os.write(self.wake_write, b"x")

    # -- the thread
    def is_cut(self, link):
        return bool(self.cut_off & set(link)) or frozenset(link) in self.cut_pairs

    def whose(self, near):
        port, peer = near.getpeername()[1], near.getsockname()[1]
        inode = inode_of(port, peer)
        if inode is not None:
            for name, pid_of in self.pids.items():
                pid = pid_of()
                if pid is not None and holds_inode(pid, inode):
                    return name
        return ELSEWHERE

    def accept(self, listener):
        try:
            near, _ = listener.accept()
        except OSError:
            return
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name, target = self.doors[listener]
        try:
            self.pairs.append(Pair((self.whose(near), name), near, target))
        except OSError:
            near.close()

    def run(self):
        while not self.over:
            with self.lock:
                self.pairs = [pair for pair in self.pairs if not self.is_over(pair)]
                self.broken.clear()
            self.turn()
        for pair in self.pairs:
            pair.close()
        for listener in self.doors:
            listener.close()

    def is_over(self, pair):
        if not self.broken & set(pair.link):
            return False
        pair.close()
        return True

    def turn(self):
        """Waits until something can be done, and does it."""
        now, wait = time.monotonic(), 0.5
        with selectors.DefaultSelector() as selector:
            selector.register(self.wake_read, selectors.EVENT_READ)
            for listener in self.doors:
                selector.register(listener, selectors.EVENT_READ, listener)
            events = {}
            for pair in self.pairs:
                with self.lock:
                    if self.is_cut(pair.link):
                        continue
                if pair.far is None:
                    pair.connect()
                for way in pair.ways:
                    if not way.ended and way.bytes < HELD_MOST:
                        events[way.source] = events.get(way.source, 0) | selectors.EVENT_READ
                    if way.held and way.held[0][0] > now:
                        wait = min(wait, way.held[0][0] - now)
                    elif way.held:
                        events[way.sink] = events.get(way.sink, 0) | selectors.EVENT_WRITE
            for end, mask in events.items():
                selector.register(end, mask)
            ready = {key.fileobj for key, _ in selector.select(wait)}
        self.act(ready)

    def act(self, ready):
        try:
            os.read(self.wake_read, 4096)
        except BlockingIOError:
            pass
        for listener in list(self.doors):
            if listener in ready:
                self.accept(listener)
        self.pairs = [pair for pair in self.pairs if self.move(pair, ready)]

    def move(self, pair, ready):
        """False when the connection has ended."""
        with self.lock:
            if self.is_cut(pair.link):
                return True
            delay = max((self.delays.get(name, 0) for name in pair.link), default=0)
        now = time.monotonic()
        try:
            for way in pair.ways:
                if way.source in ready and not way.ended:
                    way.take(now + delay)
                if way.give(time.monotonic()) and way.ended and not way.held:
                    pair.close()
                    return False
        except OSError:  # refused, reset
            pair.close()
            return False
        return True
