# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test, which has all of its own: its folder, its port, its processes."""
import glob
import os
import pwd
import shutil
import signal
import subprocess

import ports
from harness import _die_with_parent, clean_environment, holds, patience, wait_for

USER = "bayesd"
SETTINGS = """
listen_addresses = '127.0.0.1'
max_connections = 60
shared_buffers = 32MB
max_wal_size = 256MB
wal_level = replica
max_wal_senders = 6
wal_keep_size = 64MB
hot_standby = on
wal_receiver_timeout = 5s
wal_sender_timeout = 5s
"""


def program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    holds(found, f"no {name} in /usr/lib/postgresql: scripts/install-deps --nodes installs PostgreSQL")
    return found[-1]


def as_its_user():
    """PostgreSQL refuses root: what runs its programs as another user."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []


def children_of(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                words = file.read().rsplit(")", 1)[1].split()
            if int(words[1]) == pid:
                found.append(int(path.split("/")[2]))
        except (OSError, IndexError):
            pass
    return found


class Member:
    """A process that can be killed, stopped, emptied and started again."""

    def __init__(self, name):
        self.name, self.is_frozen = name, False

    def pids(self):
        return [self.pid()]

    def signalled(self, number):
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signalled(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen and self.running():
            self.signalled(signal.SIGCONT)
        self.is_frozen = False


class Database(Member):
    template = None  # the data of a server that was just made and has stopped: others begin as its copy

    @classmethod
    def make_template(cls, folder):
        """For who makes many. `folder` is kept as long as that goes on."""
        os.chmod(folder, 0o711)
        inner = os.path.join(folder, "template")
        os.mkdir(inner)
        one = cls("template", inner, False).init()
        one.stop()
        cls.template = one.data

    def __init__(self, name, folder, is_linked):
        super().__init__(name)
        self.folder, self.data = folder, os.path.join(folder, "data")
        self.port = ports.free_port()
        self.door = ports.free_port() if is_linked else self.port
        self.log, self.process = os.path.join(folder, "log"), None
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)

    def run(self, name, *words):
        done = subprocess.run([*as_its_user(), program(name), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              cwd=self.folder, env=clean_environment(), timeout=patience(60), check=False)
        equal_zero = done.returncode == 0
        holds(equal_zero, f"{name} {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def init(self):
        if self.template:
            self.copy_template()
            return self.start()
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(SETTINGS)
        self.start()
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, USER)
        return self

    def copy_template(self):
        subprocess.run(["cp", "-a", self.template, self.data], check=True)

    def follow_new(self, primary):
        """Becomes the standby of one that was just made."""
        if not self.template:
            return self.clone(primary)
        self.copy_template()
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a", encoding="ascii") as file:
            file.write(f"primary_conninfo = 'host=127.0.0.1 port={primary.port} user={USER} application_name={self.name}'\n")
        with open(os.path.join(self.data, "standby.signal"), "w", encoding="ascii"):
            pass
        return self.start()

    def clone(self, primary):
        """Becomes a standby of a server that runs."""
        self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d",
                 f"host=127.0.0.1 port={primary.port} user={USER} application_name={self.name}")
        return self.start()

    def spawn(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*as_its_user(), program("postgres"), "-D", self.data, "-p", str(self.port), "-k", self.folder],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=clean_environment(),
                preexec_fn=_die_with_parent)
        return self

    def start(self):
        self.spawn()
        wait_for(self.answers, lambda: f"{self.name} answers:\n{self.said()}", 60, 0.05)
        return self

    def answers(self):
        holds(self.running(), f"{self.name} is gone:\n{self.said()}")
        return subprocess.run([program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "1"],
                              check=False).returncode == 0

    def sql(self, *statements):
        """What they print, without blanks."""
        words = [word for text in statements for word in ("-c", text)]
        return self.run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", USER, "-v", "ON_ERROR_STOP=1", "-AtX",
                        *words).strip()

    def synchronous(self, is_so):
        """Whether it waits for its standby before it says that something is committed."""
        names = "*" if is_so else ""
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'", "SELECT pg_reload_conf()")

    def promote(self):
        self.run("pg_ctl", "promote", "-D", self.data, "-w")

    def pid(self):
        return self.process.pid if self.running() else None

    def pids(self):
        return [self.process.pid, *children_of(self.process.pid)] if self.running() else []

    def running(self):
        return self.process is not None and self.process.poll() is None

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-30:])

    def kill(self):
        """All of its processes at once."""
        self.thaw()
        self.signalled(signal.SIGKILL)
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.thaw()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(patience(30))

    def empty(self):
        """The disk is lost. Not while it runs."""
        shutil.rmtree(self.data, ignore_errors=True)
