# SPDX-License-Identifier: Apache-2.0
"""A Postfix of the unpacked Debian package, which takes mail for example.net into a Maildir.

`settings` is an administrator's main.cf: the lines under test come after those that tell Postfix its
folders (https://www.postfix.org/postconf.5.html).
"""
import os

import harness

TREE = os.path.join(harness.UNPACKED, "postfix")
LIBRARIES = os.path.join(TREE, "usr", "lib", "postfix")
PRIVATE = ("active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private",
           "saved", "trace")
SERVICES = """
cleanup    unix       n - n - 0    cleanup
qmgr       unix       n - n 300 1  qmgr
rewrite    unix       - - n - -    trivial-rewrite
bounce     unix       - - n - 0    bounce
defer      unix       - - n - 0    bounce
trace      unix       - - n - 0    bounce
verify     unix       - - n - 1    verify
proxymap   unix       - - n - -    proxymap
proxywrite unix       - - n - 1    proxymap
error      unix       - - n - -    error
retry      unix       - - n - -    error
showq      unix       n - n - -    showq
virtual    unix       - n n - -    virtual
anvil      unix       - - n - 1    anvil
postlog    unix-dgram n - n - 1    postlogd
"""


class Postfix:
    """Listens on `port`, and on ports[NAME] with the settings listeners[NAME] instead."""

    def __init__(self, host, settings, listeners=None):
        listeners = {"": {}, **(listeners or {})}
        self.ports = {name: harness.free_port() for name in listeners}
        self.port = self.ports[""]
        self.folder = host.path("postfix")
        self.box = os.path.join(host.path("postfix", "box", owner="nobody"), "inbox")
        self._make_queue(host)
        host.path("postfix", "data", owner="postfix")
        host.write("postfix/etc/main.cf", self._main() + settings)
        host.write("postfix/etc/master.cf", "".join(
            f"127.0.0.1:{self.ports[name]} inet n - n - - smtpd\n"
            + "".join(f"  -o {key}={value}\n" for key, value in own.items())
            for name, own in listeners.items()) + SERVICES)
        # -d: stays in the foreground, in the session of the harness.
        self.environment = {"LD_LIBRARY_PATH": LIBRARIES, "MAIL_CONFIG": os.path.join(self.folder, "etc")}
        host.start("postfix", [os.path.join(LIBRARIES, "sbin", "master"), "-d", "-c",
                               self.environment["MAIL_CONFIG"]],
                   port=self.port, environment=self.environment)

    def _make_queue(self, host):
        """Does what post-install does, with the owners of the files in the package."""
        host.path("postfix", "queue", "pid")
        for name in PRIVATE:
            host.path("postfix", "queue", name, mode=0o700, owner="postfix")
        for name, mode in (("public", 0o710), ("maildrop", 0o730)):
            host.path("postfix", "queue", name, mode=mode, owner="postfix", group="postdrop")

    def _main(self):
        return f"""compatibility_level = 3.6
daemon_directory = {LIBRARIES}/sbin
command_directory = {TREE}/usr/sbin
shlib_directory = {LIBRARIES}
meta_directory = {TREE}/etc/postfix
import_environment = MAIL_CONFIG LD_LIBRARY_PATH={LIBRARIES}
queue_directory = {self.folder}/queue
data_directory = {self.folder}/data
maillog_file = {self.folder}/maillog
maillog_file_prefixes = {self.folder}
myhostname = mx.example.net
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
queue_run_delay = 1s
smtpd_relay_restrictions = permit_mynetworks, reject
alias_maps =
virtual_transport = virtual
virtual_mailbox_domains = example.net
virtual_mailbox_base = {self.folder}/box
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
"""

    def run(self, host, program, *arguments):
        """Runs one of Postfix's commands, such as postsuper."""
        host.run([os.path.join(TREE, "usr", "sbin", program), *arguments], status=0,
                 environment=self.environment)

    def held(self):
        """How many mails Postfix keeps in its hold queue."""
        return sum(len(files) for _, _, files in os.walk(os.path.join(self.folder, "queue", "hold")))
