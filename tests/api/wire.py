# SPDX-License-Identifier: Apache-2.0
"""HTTP by hand, for requests that a well-behaved client would not send."""
import json
import socket

from harness import Reply, holds, patience


class Wire:
    """A raw connection: send any bytes, read replies one after the other."""

    def __init__(self, daemon, timeout=30.0, receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in daemon.host else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience(timeout))
        self.socket.connect((daemon.host, daemon.port))
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def try_send(self, data):
        """Sends as much as the other side takes: it may have answered and closed already."""
        try:
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def more(self):
        """Reads on; False at the end of the stream."""
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self.rest += data
        return bool(data)

    def until(self, mark):
        while mark not in self.rest:
            if not self.more():
                return None
        line, self.rest = self.rest.split(mark, 1)
        return line

    def exactly(self, size):
        while len(self.rest) < size:
            holds(self.more(), f"the reply ended after {len(self.rest)} of {size} bytes")
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def reply(self, method="GET"):
        """The next reply, or None if the connection was closed instead."""
        head = self.until(b"\r\n\r\n")
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        found = {name.lower(): value for name, value in headers}
        status = int(first.split()[1])
        if status < 200 or status in (204, 304) or method == "HEAD":
            return Reply(status, headers, b"")
        return Reply(status, headers, self.body(found))

    def body(self, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            out = b""
            while size := int(self.until(b"\r\n").split(b";")[0], 16):
                out += self.exactly(size)
                self.exactly(2)
            self.exactly(2)
            return out
        if "content-length" in headers:
            return self.exactly(int(headers["content-length"]))
        while self.more():
            pass
        data, self.rest = self.rest, b""
        return data

    def closed(self):
        """Waits for the other side to close; False if it sends something instead."""
        try:
            return self.socket.recv(1) == b""
        except (ConnectionResetError, BrokenPipeError):
            return True


def request(method, path, body=b"", kind="application/json", version="1.1", **headers):
    """The bytes of a request, with a length."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/{version}", "Host: localhost"]
    if body or method in ("POST", "PUT"):
        lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)
