# SPDX-License-Identifier: Apache-2.0
"""What every part of `make bench` uses: figures, processes, bodies."""
import ctypes
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import time

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WORK = os.path.join(TOP, "build", "bench")
PASSING = os.path.join(WORK, "passing")  # documents and stores that go when the run ends
READY = re.compile(r"ready on http://127\.0\.0\.1:(\d+)")
TEXT_BYTES = 3000


# ---- what is measured ---------------------------------------------------------------------------
class Figures:
    """The figures so far, printed as they come."""

    def __init__(self):
        self.rows = []

    def add(self, part, what, value, unit, at_least=None, at_most=None):
        row = {"part": part, "what": what, "value": value, "unit": unit}
        if at_least is not None or at_most is not None:
            least = at_least is not None
            row["target"] = ("at least " if least else "at most ") + shown(at_least if least else at_most)
            row["met"] = value >= at_least if least else value <= at_most
        self.rows.append(row)
        print("(%s) %-58s %12s %-12s %s" % (part, what, shown(value), unit, verdict(row)), flush=True)
        return value

    def note(self, text):
        print("    " + text, flush=True)


def shown(value):
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict(row):
    if "target" not in row:
        return ""
    return f"target {row['target']}: " + ("met" if row["met"] else "NOT MET")


# ---- processes ----------------------------------------------------------------------------------
def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Server:
    """A bayesd or the ceiling; `ready` is how many seconds it took to say so.

    settings: {"STORE_MEMORY": "64M"}, as the daemon's environment has them without BAYESD_."""

    def __init__(self, *command, settings=None):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("BAYESD_")}
        environment.update({"BAYESD_" + k: v for k, v in (settings or {}).items()})
        begin = time.monotonic()
        self.connection = None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=die_with_parent)
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = READY.search(line)
            if found:
                self.ready = time.monotonic() - begin
                self.port = int(found[1])
                break
        else:
            self.process.wait()
            raise RuntimeError(f"{command[0]} did not start:\n{''.join(said)}")
        # What it says later must not fill the pipe and stop it.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        self.process.stderr.close()

    def cpu(self):
        """Seconds of processor time of all its threads, by the clock of the process (clock_getcpuclockid):
        /proc counts in hundredths of a second, of which a start takes ten."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def cpu_of(self, thread):
        """Seconds of processor time of its threads of this name; None if none has it, or the kernel does not say."""
        found = []
        for task in os.scandir(f"/proc/{self.process.pid}/task"):
            try:
                with open(os.path.join(task.path, "comm"), encoding="ascii") as file:
                    if file.read().rstrip("\n") != thread:
                        continue
                with open(os.path.join(task.path, "schedstat"), encoding="ascii") as file:
                    found.append(int(file.read().split()[0]) / 1e9)
            except OSError:  # it has ended
                continue
        return sum(found) if found else None

    def written(self):
        """Bytes that it has given the kernel to write to files. (write_bytes, beside it, counts a whole folio, of up
        to 64 KB or more, for each byte that is changed in it.)"""
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as file:
            return int(re.search(r"^wchar: (\d+)", file.read(), re.M)[1])

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def ask(self, method, path, body=None, kind="application/json"):
        """(status, bytes) over a connection that is kept; one thread."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self.connection.request(method, path, body, {"Content-Type": kind} if body is not None else {})
        reply = self.connection.getresponse()
        content = reply.read()
        if reply.will_close:
            self.connection.close()
            self.connection = None
        return reply.status, content

    def request(self, method, path, body=None, kind="application/json"):
        status, content = self.ask(method, path, body, kind)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {content[:300]}")
        return content

    def metric(self, name):
        found = re.search(rf"^{name} ([\d.e+-]+)$", self.request("GET", "/metrics").decode(), re.M)
        return float(found[1]) if found else None

    def kill(self):
        self.process.kill()
        self.wait()

    def stop(self):
        """The seconds that it took."""
        begin = time.monotonic()
        self.process.stdin.close()
        self.process.send_signal(signal.SIGTERM)
        self.wait()
        return time.monotonic() - begin

    def wait(self):
        try:
            self.process.wait(120)
        finally:
            if self.connection is not None:
                self.connection.close()
            self.process.kill()
            self.process.wait()
            self.drain.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


class Bench:
    """A build that is measured; `against` is another one that some parts measure in turns with it."""

    def __init__(self, build, quick, corpus=None, against=None):
        self.build, self.quick, self.corpus = os.path.abspath(build), quick, corpus
        self.against = against
        self.figures = Figures()

    def tool(self, name):
        return os.path.join(self.build, "tests", "bench", name)

    def daemon(self, data, build=None, **settings):
        program = os.path.join(build or self.build, "bayesd")
        return Server(program, "--data", data, "--listen", "127.0.0.1:0", settings=settings)

    def generated(self, kind, *arguments):
        """The path of generated bodies."""
        path = os.path.join(PASSING, "-".join(("corpus", kind, *map(str, arguments))))
        with open(path, "wb") as file:
            subprocess.run([self.tool("corpus"), kind, *map(str, arguments)], stdout=file, check=True)
        return path

    def load(self, server, bodies, *paths, connections=16, seconds=5.0, kind="text/plain", once=False,
             first=0):
        """Runs the load generator; adds the daemon's processor time per request, in microseconds."""
        command = [self.tool("load"), "--port", str(server.port), "--type", kind,
                   "--connections", str(connections), "--seconds", str(seconds), "--first", str(first)]
        for path in paths:
            command += ["--path", path]
        before = server.cpu()
        done = subprocess.run(command + ["--once"] * once + [bodies], capture_output=True, text=True,
                              timeout=seconds + 300, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"load: {done.stderr}{done.stdout}")
        result = json.loads(done.stdout)
        result["cpu_us"] = (server.cpu() - before) * 1e6 / result["requests"]
        return result


def framed(path, bodies):
    """Writes bodies as tests/bench/load.c reads them."""
    with open(path, "wb") as file:
        for body in bodies:
            file.write(b"%d\n" % len(body) + body)
    return path


def framed_file(path):
    """Makes one body of a whole file."""
    with open(path + ".framed", "wb") as out, open(path, "rb") as file:
        out.write(b"%d\n" % os.path.getsize(path))
        shutil.copyfileobj(file, out, 1 << 20)
    os.remove(path)
    return path + ".framed"


def disk_used(data):
    """Bytes that the files of a data folder take."""
    return sum(512 * entry.stat().st_blocks for entry in os.scandir(data) if entry.is_file())


def first_body(path):
    with open(path, "rb") as file:
        return file.read(int(file.readline()))


def median(results, member):
    return statistics.median(result[member] for result in results)
