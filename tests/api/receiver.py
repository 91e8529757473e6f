# SPDX-License-Identifier: Apache-2.0
"""A receiver of events, which checks their signatures as the Standard Webhooks say."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import ssl
import threading
import time

from harness import equal, holds, wait_for

SECRET = bytes(range(32))
SECRET_TEXT = "whsec_" + base64.b64encode(SECRET).decode()


class Event:
    def __init__(self, handler, body):
        self.path, self.body, self.at = handler.path, body, time.monotonic()
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.id, self.timestamp = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        self.json = json.loads(body)
        self.type, self.data = self.json["type"], self.json["data"]

    def check(self, secret=SECRET):
        mac = hmac.new(secret, f"{self.id}.{self.timestamp}.".encode() + self.body, hashlib.sha256).digest()
        equal(self.headers["webhook-signature"], "v1," + base64.b64encode(mac).decode(), "the signature")
        holds(abs(time.time() - int(self.timestamp)) < 600, self.timestamp)
        equal(self.headers["content-type"], "application/json")
        holds(self.id.startswith("msg_") and len(self.id) == 36, self.id)
        holds(self.json["timestamp"].endswith("Z"), self.json)
        equal(set(self.json), {"type", "timestamp", "data"})


class Receiver:
    """Listens on a port of its own. `status(event)` is the answer; None: none, until the receiver ends."""

    def __init__(self, tls=None):
        self.events, self.status, self.headers = [], lambda event: 204, {}
        self._ends = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                event = Event(self, self.rfile.read(int(self.headers["Content-Length"])))
                receiver.events.append(event)
                status = receiver.status(event)
                if status is None:
                    receiver._ends.wait()
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                receiver.events.append(self.path)
                self.send_error(405)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """A client that refuses the certificate, or goes, is no fault."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https://localhost' if tls else 'http://127.0.0.1'}:{self.port}/hook"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends.set()
        self.server.shutdown()
        self.server.server_close()

    def of(self, kind):
        return [event for event in self.events if event.type == kind]

    def wait(self, count, what="an event comes"):
        wait_for(lambda: len(self.events) >= count, lambda: f"{what}: {[e.json for e in self.events]}")
        return self.events


def options(api, url, **more):
    """The section [events], with the file of the secret."""
    path = os.path.join(api.new_folder(), "secret")
    with open(path, "w", encoding="ascii") as file:
        file.write(SECRET_TEXT + "\n")
    return {"url": url, "secret_file": path, "retry_seconds": 1, "look_seconds": 1, **more}


def daemon(api, receiver, groups=None, **more):
    return api.another(config={"events": options(api, receiver.url, **more), **(groups or {})}).start()
