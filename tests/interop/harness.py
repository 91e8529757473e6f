# SPDX-License-Identifier: Apache-2.0
"""What one module of tests needs: a trained bayesd, mail software, folders, ports.

A test is a function test_*(host) that raises when something does not hold; `host` is a Host. A module
may have `prepare(host)`, which starts its mail software; it is called once, before the first test.
The functions of the harness of tests/api (equal, holds, wait_for ...) are here under the same names.
"""
import contextlib
import ctypes
import email
import importlib.util
import mailbox
import os
import re
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import tempfile

import mails

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))
INTEGRATIONS = os.path.join(REPOSITORY, "config", "integrations")
# What scripts/unpack-mail-software has unpacked.
UNPACKED = os.path.join(REPOSITORY, "build", "interop")

sys.path.append(os.path.join(REPOSITORY, "tests", "api"))  # for what that harness imports
_found = importlib.util.spec_from_file_location(
    "api_harness", os.path.join(REPOSITORY, "tests", "api", "harness.py"))
api = importlib.util.module_from_spec(_found)
_found.loader.exec_module(api)
from ports import free_port  # noqa: E402  (needs the path above)

equal, holds, wait_for, shown, slow, patience = api.equal, api.holds, api.wait_for, api.shown, api.slow, api.patience

# Unseen mails of mails.py are at least at 0.999 or at most at 0.001 after the training below.
TRAINING = 40
FILTER = {"unsure": 0.3, "add_header": 0.9, "reject": 0.99}
# With reject = 1 nothing is refused: the same spam is then delivered, with a mark.
TAG_ONLY = {"reject": 1}
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


# ---- processes ----------------------------------------------------------------------------------
def adopt_orphans():
    """Makes servers that leave their parent children of this program, which can then end them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants(pid):
    """Process ids of all descendants of `pid`."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    # The name in parentheses may contain any bytes; behind it are the state and the parent.
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(name))
    found = []
    waiting = [pid]
    while waiting:
        own = children.get(waiting.pop(), [])
        found += own
        waiting += own
    return found


def end_descendants():
    """Ends all descendants of this program and waits for them."""
    def none_left():
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        return not descendants(os.getpid())
    wait_for(none_left, "processes that were killed go away")


class Program:
    """A program that runs beside the test; what it prints goes to a file in the host's folder."""

    def __init__(self, name, command, log, environment, folder):
        self.name, self.log = name, log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                env=environment, start_new_session=True,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def running(self):
        return self.process.poll() is None

    def output(self, most=6000):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-most:]

    def terminate(self):
        """Asks it to end, as a service manager does, without waiting."""
        if self.running():
            self.process.terminate()

    def stop(self, seconds=10):
        """Ends it, then the rest of its session."""
        self.terminate()
        try:
            self.process.wait(seconds * slow())
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self):
        """kill -9 to the whole session."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def answers(port):
    """Whether somebody listens on the port of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


# ---- files --------------------------------------------------------------------------------------
def filled(text, replacements, what):
    """The text with each key of `replacements` replaced by its value; each must be there."""
    for key in replacements:
        holds(key in text, f"{what} does not contain {key!r}: the test and the file differ")
    keys = sorted(replacements, key=len, reverse=True)
    pattern = "|".join(re.escape(key) for key in keys)
    return re.sub(pattern, lambda match: str(replacements[match.group()]), text) if keys else text


def read_mails(path):
    """The mails in a Maildir or mbox, as email messages in order; none if it is not there yet."""
    is_maildir = os.path.isdir(path)
    # A mail server makes the folders of a Maildir one after another, with the first mail.
    needed = [os.path.join(path, part) for part in ("new", "cur")] if is_maildir else [path]
    if not all(os.path.exists(part) for part in needed):
        return []
    box = mailbox.Maildir(path) if is_maildir else mailbox.mbox(path, create=False)
    try:
        return [box[key] for key in sorted(box.keys())]
    finally:
        box.close()


def intact(copy, mail, changed=()):
    """Checks that a delivered mail has the body and the header fields that were sent.

    Fields may have been added; those named in `changed` are not compared."""
    sent = email.message_from_bytes(mail)
    equal(_body(copy), _body(sent), "body of the delivered mail")
    for name in {name for name in sent.keys() if name not in changed}:
        equal(copy.get_all(name), sent.get_all(name), f"{name} of the delivered mail")


def marked(copy, begins, mail):
    """Checks that a mail has the one status header that bayesd gave it, and is otherwise as it was sent."""
    equal(len(copy.get_all("X-Bayes-Status")), 1, "status headers")
    holds(copy["X-Bayes-Status"].startswith(begins), copy["X-Bayes-Status"])
    intact(copy, mail, ["X-Bayes-Status"])


def marked_spam(copy, mail):
    """The same of a spam whose probability is .99 at least."""
    marked(copy, "spam, probability=", mail)
    probability = float(copy["X-Bayes-Status"].split("=")[1].split(",")[0])
    holds(0.99 <= probability <= 1, copy["X-Bayes-Status"])


def _body(message):
    """With LF line ends; mail servers may add the last one."""
    whole = message.as_bytes().replace(b"\r\n", b"\n")
    return whole.partition(b"\n\n")[2].rstrip(b"\n")


# ---- what a test gets ---------------------------------------------------------------------------
class Host:
    """bayesd, trained with mails/, and the means to run mail software against it."""

    def __init__(self, build, name):
        self.build = os.path.abspath(build)
        self.bayesd, self.bayesc, self.milter = (
            os.path.join(self.build, program) for program in ("bayesd", "bayesc", "bayesd-milter"))
        # Mail servers change to other users, who need access to their files.
        self.folder = tempfile.mkdtemp(prefix=f"interop-{name}-")
        os.chmod(self.folder, 0o755)
        self.port = free_port()
        self.daemon, self.sections = None, {}  # more sections of bayesd.conf
        self._settings, self._programs, self._serial = None, [], 0
        self._is_prepared, self._is_trained, self._wrong = False, False, None

    # -- bayesd
    def start_bayesd(self, **settings):
        """Starts it on the host's port with FILTER and `settings` in [filter], and with `sections`; restarts if
        needed."""
        if self.daemon is not None and self.daemon.running() and self._settings == settings:
            return
        self.stop_bayesd()
        self.daemon = api.Daemon(self.bayesd, self.path("bayesd"), listen=f"127.0.0.1:{self.port}",
                                 config={"filter": {**FILTER, **settings}, **self.sections}).start()
        self._settings = settings
        if not self._is_trained:
            self._is_trained = True
            for kind in ("spam", "ham"):
                self.http.post(f"/v1/models/mail/train?label={kind}",
                               mails.mbox(mails.mails(kind, TRAINING, "training")),
                               "application/mbox").ok()

    def stop_bayesd(self):
        """Ends it; the port then refuses connections until start_bayesd()."""
        if self.daemon is not None:
            self.daemon.stop()
            self.daemon = None

    @contextlib.contextmanager
    def hanging_bayesd(self):
        """Within it bayesd is suspended: the kernel accepts connections, and nothing is answered."""
        self.daemon.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.daemon.signal(signal.SIGCONT)

    @property
    def http(self):
        """A client of bayesd: host.http.get("/v1/models/mail")."""
        return self.daemon.client

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    # -- files
    def path(self, *names, mode=0o755, owner=None, group=None):
        """A folder of the host, made if it is missing; `owner` and `group` are names."""
        path = os.path.join(self.folder, *names)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
        if owner or group:
            shutil.chown(path, owner, group)
        return path

    def write(self, name, content, mode=0o644):
        """A file in the host's folder; returns its path."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(path, mode)
        return path

    def integration(self, name, replacements=None):
        """The text of config/integrations/NAME with ports and folders of this host filled in."""
        with open(os.path.join(INTEGRATIONS, name), encoding="utf-8") as file:
            return filled(file.read(), replacements or {}, "config/integrations/" + name)

    # -- programs
    def start(self, name, command, port=None, environment=None, folder=None, seconds=30):
        """Starts a server and, with `port`, waits until it listens there. Ended with the host."""
        log = os.path.join(self.folder, name + ".output")
        program = Program(name, command, log, {**api.clean_environment(), **(environment or {})},
                          folder or self.folder)
        self._programs.append(program)
        if port is not None:
            wait_for(lambda: answers(port) or not program.running(), f"{name} listens", seconds)
            holds(program.running() and answers(port), f"{name} ended:\n{program.output()}")
        return program

    def run(self, command, input=b"", seconds=30, status=None, environment=None, folder=None):
        """Runs a program to its end: (exit status, standard output, standard error), as bytes."""
        done = subprocess.run(command, input=input, capture_output=True, timeout=patience(seconds),
                              env={**api.clean_environment(), **(environment or {})},
                              cwd=folder or self.folder, check=False)
        if status is not None:
            equal(done.returncode, status, f"{command}: {shown(done.stderr)} {shown(done.stdout)}")
        return done.returncode, done.stdout, done.stderr

    # -- mail
    def mail(self, kind, headers=()):
        """A mail, spam or ham, that was neither trained nor returned before."""
        self._serial += 1
        return mails.mails(kind, 1, f"unseen-{self._serial}", headers)[0]

    def send(self, port, mail, recipients=(mails.RECIPIENT,), sender="sender@example.org"):
        """Hands a mail to an SMTP server: (code, text) of the first refusal, or of the last reply."""
        with smtplib.SMTP("127.0.0.1", port, local_hostname="client.example.org",
                          timeout=patience(60)) as client:
            client.ehlo()
            reply = client.mail(sender, () if mail.isascii() else ("BODY=8BITMIME",))
            for name in recipients:
                reply = client.rcpt(name) if reply[0] // 100 == 2 else reply
            if reply[0] // 100 == 2:
                reply = client.data(mail.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
            return reply[0], reply[1].decode("utf-8", "replace")

    def taken(self, port, box, mail):
        """Sends a mail that the server must take; returns the recipient's copy from `box`."""
        code, text = self.send(port, mail)
        equal(code, 250, text)
        return self.delivered(box, mail)

    def refused(self, port, box, mail, code, word):
        """Sends a mail that the server must refuse: the sender gets `code` and `word`,
        and the recipient gets nothing."""
        got, text = self.send(port, mail)
        equal(got, code, text)
        holds(word in text, f"{word!r} is not in the reply {text!r}")
        equal(self.copies(box, mail), [], "mail that was refused and delivered")

    def delivered(self, path, mail, seconds=15):
        """The one copy of `mail` in a Maildir or mbox, once it is there, as an email message."""
        found = wait_for(lambda: self.copies(path, mail), f"the mail is in {path}", seconds)
        equal(len(found), 1, "copies of the mail")
        return found[0]

    def copies(self, path, mail):
        """What has the mail's Message-ID in a Maildir or mbox."""
        identity = re.search(rb"^Message-ID: (.*)$", mail, re.M).group(1).decode()
        return [copy for copy in read_mails(path) if copy["Message-ID"] == identity]

    # -- for tests/interop/run
    def one(self, module, function):
        """Runs one test with bayesd running; the first one prepares the module's software."""
        if self._wrong is not None:
            raise AssertionError(f"the module's software did not start: {self._wrong}")
        self.start_bayesd()
        if hasattr(module, "prepare") and not self._is_prepared:
            self._is_prepared = True
            try:
                module.prepare(self)
            except Exception as error:
                self._wrong = error
                raise
        try:
            function(self)
        except Exception:
            self.show_programs()
            raise

    def show_programs(self):
        """Prints the last lines of the output of all servers."""
        for folder, _, files in sorted(os.walk(self.folder)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if name.endswith((".output", ".log", "maillog", "mainlog", "paniclog")):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        text = file.read()[-2000:]
                    if "\0" in text:
                        continue  # an index of Dovecot's
                    print(f"--- {path[len(self.folder) + 1:]}\n{text}", flush=True)
        if self.daemon is not None:
            print("--- bayesd\n" + "\n".join(self.daemon.lines[-20:]), flush=True)

    def close(self):
        """Ends everything and removes the folder."""
        try:
            for program in self._programs:
                program.terminate()
            for program in reversed(self._programs):
                program.stop()
                if program.name.startswith("bayesd"):
                    text = program.output()
                    holds(not any(fault in text for fault in api.FAULTS), text)
            self.stop_bayesd()
        finally:
            if self.daemon is not None:
                self.daemon.kill()
            end_descendants()
            shutil.rmtree(self.folder, ignore_errors=True)
