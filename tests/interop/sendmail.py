# SPDX-License-Identifier: Apache-2.0
"""A Sendmail of the unpacked Debian packages, which takes mail for example.net into a Maildir.

The lines under test are in its .mc file at the place that their page names
(https://www.sendmail.org/~ca/email/doc8.12/cf/m4/intro.html).
"""
import os
import shutil

import harness

TREE = os.path.join(harness.UNPACKED, "sendmail", "usr")
MACROS = os.path.join(TREE, "share", "sendmail", "cf")
# Sendmail sleeps for a minute when the name of the machine has no dot, as may be the case in tests.
NAME_SOURCE = """
#include <stdio.h>
int gethostname(char *name, unsigned long size)
{
    return snprintf(name, size, "mx.example.net") < (int)size ? 0 : -1;
}
"""
# A busy machine is none of its business: above some load Sendmail queues, and then refuses connections.
# Flags of the mailer: "user" is no user of this machine (w), there are no aliases (A), and no "From "
# line goes in front (n). A mailer without $u would have to speak SMTP.
TEMPLATE = """OSTYPE(`linux')dnl
define(`confDOMAIN_NAME', `mx.example.net')dnl
define(`QUEUE_DIR', `{folder}/queue')dnl
define(`confPID_FILE', `{folder}/sendmail.pid')dnl
define(`STATUS_FILE', `{folder}/statistics')dnl
define(`confSERVICE_SWITCH_FILE', `{folder}/switch')dnl
define(`confDONT_BLAME_SENDMAIL', `MapInUnsafeDirPath')dnl
define(`confTO_IDENT', `0')dnl
define(`confQUEUE_LA', `100000')dnl
define(`confREFUSE_LA', `100000')dnl
define(`confDELAY_LA', `0')dnl
define(`confDEF_USER_ID', `nobody:nogroup')dnl
define(`LOCAL_MAILER_PATH', `{folder}/deliver')dnl
define(`LOCAL_MAILER_ARGS', `deliver $u')dnl
MODIFY_MAILER_FLAGS(`LOCAL', `+n')dnl
MODIFY_MAILER_FLAGS(`LOCAL', `-wA')dnl
DAEMON_OPTIONS(`Name=MTA, Addr=127.0.0.1, Port={port}')dnl
FEATURE(`no_default_msa')dnl
FEATURE(`nocanonify')dnl
FEATURE(`accept_unresolvable_domains')dnl
LOCAL_DOMAIN(`example.net')dnl
{settings}MAILER(`local')dnl
MAILER(`smtp')dnl
"""
DELIVER = """#!/bin/sh
set -e
cat >{box}/tmp/$$.{port}
mv {box}/tmp/$$.{port} {box}/new/$$.{port}
"""


class Sendmail:
    """Listens on `port`; `settings` are lines of its .mc file."""

    def __init__(self, host, name, settings):
        self.port = harness.free_port()
        self.folder = folder = host.path(name)
        self.box = os.path.join(folder, "box")
        for part in ("", "tmp", "new", "cur"):
            host.path(name, "box", part, owner="nobody")
        host.path(name, "queue", mode=0o700)
        host.write(f"{name}/switch", "hosts files\naliases files\n")
        host.write(f"{name}/deliver", DELIVER.format(box=self.box, port=self.port), mode=0o755)
        source = host.write(f"{name}/sendmail.mc", TEMPLATE.format(
            folder=folder, port=self.port, settings=settings))
        _, text, _ = host.run(["m4", f"-D_CF_DIR_={MACROS}/", f"{MACROS}/m4/cf.m4", source], status=0)
        configuration = host.write(f"{name}/sendmail.cf", text)
        environment = {"LD_PRELOAD": self._name(host, name)}
        # A program with the bit setgid would not load it; a copy has none.
        program = shutil.copyfile(os.path.join(TREE, "libexec", "sendmail", "sendmail"),
                                  os.path.join(folder, "sendmail"))
        os.chmod(program, 0o755)
        self.command, self.environment = [program, f"-C{configuration}"], environment
        host.start(name, [program, f"-C{configuration}", "-bD", f"-X{folder}/smtp.log"], port=self.port,
                   environment=environment)

    @staticmethod
    def _name(host, name):
        source = host.write(f"{name}/name.c", NAME_SOURCE)
        library = source[:-2] + ".so"
        host.run(["cc", "-shared", "-fPIC", "-o", library, source], status=0)
        return library

    def held(self):
        """Queue ids of the mails that Sendmail has in quarantine (files hfID)."""
        return [name[2:] for name in os.listdir(os.path.join(self.folder, "queue")) if name[:2] == "hf"]

    def run(self, host, *options):
        """Runs sendmail with these options."""
        host.run([*self.command, *options], status=0, environment=self.environment)
