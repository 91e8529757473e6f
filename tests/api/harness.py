# SPDX-License-Identifier: Apache-2.0
"""Starts, stops and reaps daemons, and speaks HTTP to them.

A test is a function test_*(api) that raises when something does not hold; `api` is a Session.
"""
import contextlib
import copy
import ctypes
import http.client
import itertools
import json
import math
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

import conformance as conformance_module

conformance = conformance_module.Conformance()

READY = "bayesd: ready on http://"
# What the sanitizers and valgrind print when they have found something.
FAULTS = ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "runtime error:",
          "Assertion", "stack smashing", "buffer overflow detected", "== Invalid ", "definitely lost")
VALGRIND = ("valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--num-callers=30")
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "valgrind.supp")
if os.path.exists(SUPPRESSIONS):
    VALGRIND += ("--suppressions=" + SUPPRESSIONS,)
PATIENCE = 6  # times as long as on an idle machine: see patience()
_living = set()
_valgrind = False
_slow = None
_binary_bytes = b""


# ---- time ---------------------------------------------------------------------------------------
def check_binary(path):
    """Refuses early, and finds out whether the build is an instrumented (slow) one."""
    global _binary_bytes
    if not os.access(path, os.X_OK):
        raise SystemExit(f"{path}: not an executable file; build it first")
    with open(path, "rb") as file:
        _binary_bytes = file.read()


def sanitized():
    return b"__asan_init" in _binary_bytes or thread_sanitized()


def thread_sanitized():
    return b"__tsan_init" in _binary_bytes


def slow():
    """How many times slower than a release build things may be."""
    if "BAYESD_SLOW" in os.environ:
        return max(1.0, float(os.environ["BAYESD_SLOW"]))
    return 40.0 if _valgrind else 6.0 if sanitized() else 1.0


def patience(seconds):
    """The time after which something that takes less than `seconds` on an idle machine is given up: much more, since
    a machine may be busy or slow. Only a test that fails takes this long."""
    return seconds * slow() * PATIENCE


def wait_for(condition, what, seconds=10.0, pause=0.005):
    """Polls until the condition holds and returns its value. `what`: a text, or a function that makes it when it is needed."""
    deadline = time.monotonic() + patience(seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience(seconds):.0f} s in vain: {what() if callable(what) else what}")
        time.sleep(pause)


# ---- assertions ---------------------------------------------------------------------------------
SHOWN = 2000  # characters of a value


def shown(value, most=SHOWN):
    text = repr(value)
    return text if len(text) <= most else text[:most] + f"... ({len(text)} characters)"


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {shown(got)}, want {shown(want)}{difference(repr(got), repr(want))}")


def difference(got, want, around=300):
    """Where two texts differ that are too long to be shown."""
    if len(got) <= SHOWN and len(want) <= SHOWN:
        return ""
    at = len(os.path.commonprefix((got, want)))
    start = max(at - around, 0)
    return f"; from character {start} on: got {got[start:at + around]}, want {want[start:at + around]}"


def near(got, want, what="", relative=1e-9):
    if not math.isclose(got, want, rel_tol=relative, abs_tol=1e-9):
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(shown(what) if not isinstance(what, str) else what)


def problem(body, status, *words):
    """Checks a problem object (RFC 9457) and that its detail names `words`."""
    equal(body.get("status"), status, f"status in {shown(body)}")
    for member in ("type", "title", "detail"):
        holds(isinstance(body.get(member), str) and body[member], f"problem without {member}: {body}")
    for word in words:
        holds(word in body["detail"], f"detail does not name {word!r}: {body['detail']!r}")
    return body


def refused(reply, status, *words):
    """Checks that a reply is the error `status`, told as API.md wants errors told."""
    equal(reply.status, status, shown(reply.body, 600))
    kind = reply.headers.get("content-type", "")
    holds(kind.startswith("application/problem+json"), f"an error of type {kind!r}")
    return problem(reply.json, status, *words)


# ---- HTTP ---------------------------------------------------------------------------------------
REQUEST_ID = re.compile(rb',"request_id":"([0-9a-f]{16})"')


class Reply:
    """`request_id` of a problem, which no two replies have in common, is taken out of the body: so replies can be compared."""

    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}
        found = REQUEST_ID.search(body) if self.headers.get("content-type") == "application/problem+json" else None
        self.request_id = found[1].decode() if found else None
        if found:
            self.body = body.replace(found[0], b"")

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise AssertionError(f"{self.status} reply is not JSON ({error}): "
                                 f"{shown(self.body, 600)}") from None

    @property
    def lines(self):
        holds(self.body.endswith(b"\n") or not self.body, "the last NDJSON line has no line end")
        return [json.loads(line) for line in self.body.split(b"\n")[:-1]]

    def ok(self, status=200):
        equal(self.status, status, shown(self.body, 600))
        return self


def quoted(segment):
    return urllib.parse.quote(segment, safe="")


class Client:
    """One kept-alive connection. A thread needs its own."""

    def __init__(self, host, port, timeout=30.0):
        self.host, self.port, self.timeout = host, port, patience(timeout)
        self.connection = None

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def request(self, method, path, body, headers):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        result = Reply(reply.status, reply.getheaders(), reply.read())
        if reply.will_close:
            self.close()
        return result

    def once(self, method, path, body=None, kind=None, **headers):
        """One attempt: what a thread must use that needs to know whether a request was sent."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, (dict, list)):
            body, kind = json.dumps(body), kind or "application/json"
        if isinstance(body, str):
            body = body.encode()
        if kind:
            headers["Content-Type"] = kind
        try:
            reply = self.request(method, path, body, headers)
        except Exception:
            self.close()
            raise
        conformance.saw(method, path, reply)
        return reply

    def call(self, method, path, body=None, kind=None, **headers):
        """As once(), but a kept-alive connection that the server had closed is opened again."""
        fresh = self.connection is None
        try:
            return self.once(method, path, body, kind, **headers)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            if fresh:
                raise
            return self.once(method, path, body, kind, **headers)

    def get(self, path, **headers):
        return self.call("GET", path, **headers)

    def put(self, path, body=None, kind=None, **headers):
        return self.call("PUT", path, body, kind, **headers)

    def post(self, path, body=None, kind=None, **headers):
        return self.call("POST", path, body, kind, **headers)

    def delete(self, path, **headers):
        return self.call("DELETE", path, **headers)


# ---- the daemon ---------------------------------------------------------------------------------
def _die_with_parent():
    """In the child: the daemon goes when the test program goes, however that ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def clean_environment(**extra):
    """The environment without BAYESD_ variables (the daemon takes those as its settings)."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BAYESD_")
            and k not in ("NOTIFY_SOCKET", "JOURNAL_STREAM")}
    # Freed memory is kept back by the sanitizer: little of it, so that memory can be measured.
    kept["ASAN_OPTIONS"] = "quarantine_size_mb=8:" + kept.get("ASAN_OPTIONS", "")
    kept["TSAN_OPTIONS"] = "halt_on_error=0:" + kept.get("TSAN_OPTIONS", "")
    kept.update(extra)
    return kept


def config_text(settings):
    """{"server": {"timeout": 2}} as a configuration file."""
    out = []
    for group, options in settings.items():
        out.append(f"[{group}]")
        out += [f"{key} = {value}" for key, value in options.items()]
    return "\n".join(out) + "\n"


class Daemon:
    """A bayesd of our own. start() waits until it is ready; stop() and kill() reap it."""

    def __init__(self, binary, folder, data=None, config=None, options=(), environment=None,
                 listen="127.0.0.1:0", wrapper=(), preexec=None, valgrind=None):
        self.folder = folder
        self.data = os.path.join(folder, "data") if data is None else data
        self.command = list(wrapper)
        if _valgrind if valgrind is None else valgrind:
            self.command += VALGRIND
        self.command.append(binary)
        if config is not None:
            path = os.path.join(folder, "bayesd.conf")
            with open(path, "w", encoding="utf-8") as file:
                file.write(config if isinstance(config, str) else config_text(config))
            self.command += ["--config", path]
        if self.data is not False:
            self.command += ["--data", self.data]
        if listen:
            self.command += ["--listen", listen]
        self.command += list(options)
        self.environment = clean_environment(**(environment or {}))
        self.preexec = preexec
        self.process = None

    # -- starting
    def spawn(self):
        """Starts the process without waiting for anything."""
        def prepare():
            _die_with_parent()
            if self.preexec:
                self.preexec()
        self.lines, self.client, self.port = [], None, None
        self._news, self._reading = threading.Event(), threading.Lock()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=self.environment, preexec_fn=prepare)
        _living.add(self)
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()
        return self

    def _read(self, process):
        rest = b""
        readable = select.poll()
        readable.register(process.stdout, select.POLLIN)
        while readable.poll():
            with self._reading:
                data = os.read(process.stdout.fileno(), 65536)
                *lines, rest = (rest + data).split(b"\n")
                self._hear(lines if data else [rest] if rest else [])
            if not data:
                break
        self._news.set()

    def _hear(self, lines):
        for line in lines:
            line = line.decode("utf-8", "replace")
            self.lines.append(line)
            if READY in line:
                self.url = line[line.index("http://"):].strip()
                self._news.set()

    def heard(self):
        """All lines, once those that it has written until now are among them."""
        def none_waits():
            readable = select.poll()
            readable.register(self.process.stdout, select.POLLIN)
            with self._reading:
                return not readable.poll(0)
        wait_for(none_waits, "what the daemon has written is read")
        return self.lines

    def start(self, seconds=20):
        self.spawn()
        return self.wait_ready(seconds)

    def wait_ready(self, seconds=20):
        self._news.wait(patience(seconds))
        if not any(READY in line for line in self.lines):
            self.kill()
            raise AssertionError("the daemon did not get ready:\n" + self.output())
        url = urllib.parse.urlparse(self.url)
        self.host, self.port = url.hostname, url.port
        self.client = Client(self.host, self.port)
        return self

    # -- looking
    @property
    def pid(self):
        return self.process.pid

    def output(self):
        if self.process is not None and not self.running():
            self._reader.join(patience(5))  # it may not have read yet what was said last
        return "\n".join(self.lines[-200:])

    def running(self):
        return self.process is not None and self.process.poll() is None

    def memory(self):
        """Resident bytes, now and at most ever."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            rows = dict(line.split(":", 1) for line in file)
        return (int(rows["VmRSS"].split()[0]) * 1024, int(rows["VmHWM"].split()[0]) * 1024)

    def processor_seconds(self):
        """Used since its start, by all threads: other programs do not count."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def new_client(self, timeout=30.0):
        return Client(self.host, self.port, timeout)

    def socket(self, timeout=30.0):
        return socket.create_connection((self.host, self.port), patience(timeout))

    # -- ending
    def wait(self, seconds=10):
        """The exit status (negative: the signal that ended it)."""
        try:
            status = self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"still running after {patience(seconds):.0f} s:\n"
                                 + self.output()) from None
        self._reader.join(10)
        self.process.stdout.close()
        _living.discard(self)
        if self.client:
            self.client.close()
        return status

    def stop(self, number=signal.SIGTERM, seconds=10):
        """Stops it as systemd would, and checks that it went cleanly."""
        if self.process is None or self not in _living:
            return
        if self.process.poll() is None:
            self.signal(number)
        status = self.wait(seconds)
        equal(status, 0, f"exit status; the daemon said:\n{self.output()}\n")
        self.check_output()

    def signal(self, number):  # below stop(), whose default names the module of this name
        self.process.send_signal(number)

    def check_output(self):
        for line in self.lines:
            if any(fault in line for fault in FAULTS):
                raise AssertionError("the daemon reported a fault:\n" + "\n".join(self.lines[-200:]))

    def kill(self):
        """kill -9. What a sanitizer has reported until then is a failure."""
        if self.process is not None and self in _living:
            self.process.kill()
            self.wait()
            self.check_output()


def kill_all(daemons):
    """Kills every one, also when a sanitizer has reported something in one before."""
    with contextlib.ExitStack() as stack:
        for daemon in daemons:
            stack.callback(daemon.kill)


def reap_all():
    kill_all(list(_living))


class Running:
    """The same face for a daemon that somebody else has started (BAYESD_URL)."""

    def __init__(self, url):
        parsed = urllib.parse.urlparse(url)
        self.host, self.port = parsed.hostname, parsed.port or 8763
        self.client = Client(self.host, self.port)
        self.lines = []

    new_client, socket = Daemon.new_client, Daemon.socket

    def running(self):
        return True

    def stop(self):
        self.client.close()


# ---- what a test gets ---------------------------------------------------------------------------
class Session:
    """The daemon of a module and what its tests need. `random` is seeded per test."""

    def __init__(self, options, config):
        global _valgrind
        _valgrind = options.valgrind
        self.binary = os.path.abspath(options.binary)
        self.long, self.seed = options.long, options.seed
        self.config = config
        self.folder = tempfile.mkdtemp(prefix="bayesd-api-")
        self.random = None
        self._daemon, self._own, self._serial = None, [], itertools.count(1)

    @property
    def daemon(self):
        """The module's daemon, started when first needed (and again after it died)."""
        if self._daemon is None or not self._daemon.running():
            url = os.environ.get("BAYESD_URL")
            if url and self.config is None:
                self._daemon = Running(url)
            else:
                self._daemon = self.another(keep=True, config=self.config).start()
            conformance.learn(self._daemon.client)
        return self._daemon

    def another(self, keep=False, **how):
        """A further daemon, not yet started, with a folder of its own; killed after the test."""
        daemon = Daemon(self.binary, how.pop("folder", None) or self.new_folder(), **how)
        if not keep:
            self._own.append(daemon)
        return daemon

    def at(self, daemon):
        """The same session, whose daemon is this one."""
        other = copy.copy(self)
        other._daemon = daemon
        return other

    def new_folder(self):
        path = os.path.join(self.folder, str(next(self._serial)))
        os.mkdir(path)
        return path

    def name(self):
        """A model's name that nobody else uses."""
        return f"test-{os.getpid()}-{next(self._serial)}"

    def tool(self, *arguments, environment=None, seconds=30):
        """Runs the binary to its end: (exit status, standard output, standard error)."""
        done = subprocess.run([self.binary, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace",
                              env=clean_environment(**(environment or {})),
                              timeout=patience(seconds), check=False)
        for fault in FAULTS:
            holds(fault not in done.stderr, done.stderr)
        return done.returncode, done.stdout, done.stderr

    def __getattr__(self, name):  # api.get(...) is api.daemon.client.get(...)
        if name in ("call", "once", "get", "put", "post", "delete"):
            return getattr(self.daemon.client, name)
        raise AttributeError(name)

    def one(self, function):
        try:
            function(self)
            if self._daemon is not None:
                holds(self._daemon.running(), f"the daemon is gone:\n" + "\n".join(self._daemon.lines[-60:]))
                self._daemon.client.get("/healthz").ok()
        finally:
            own, self._own = self._own, []
            kill_all(own)

    def close(self):
        try:
            if self._daemon is not None:
                self._daemon.stop()
        finally:
            if isinstance(self._daemon, Daemon):
                self._daemon.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
