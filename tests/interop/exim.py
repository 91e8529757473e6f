# SPDX-License-Identifier: Apache-2.0
"""An Exim of the unpacked Debian package, which takes mail for example.net into a Maildir.

The files under test are included where Debian's configuration includes them
(https://www.exim.org/exim-html-current/doc/html/spec_html/ch-content_scanning_at_acl_time.html).
"""
import os

import harness

PROGRAM = os.path.join(harness.UNPACKED, "exim", "usr", "sbin", "exim4")


class Exim:
    """Listens on `port`. `main` is text for the main section; its macro names the file of the ACL."""

    def __init__(self, host, name, main):
        self.port = harness.free_port()
        folder = host.path(name)
        self.box = os.path.join(host.path(name, "box", owner="Debian-exim"), "inbox")
        host.path(name, "spool", owner="Debian-exim", group="Debian-exim")
        host.path(name, "log", owner="Debian-exim", group="Debian-exim")
        configuration = host.write(f"{name}/exim.conf", f"""exim_path = {PROGRAM}
primary_hostname = mx.example.net
spool_directory = {folder}/spool
log_file_path = {folder}/log/%slog
pid_file_path = {folder}/spool/exim.pid
daemon_smtp_ports = {self.port}
local_interfaces = 127.0.0.1
tls_advertise_hosts =
keep_environment =
host_lookup =
exim_user = Debian-exim
exim_group = Debian-exim
acl_smtp_rcpt = acl_rcpt
acl_smtp_data = acl_data
.include {host.write(f"{name}/main.conf", main)}
begin acl
acl_rcpt:
  accept domains = example.net
acl_data:
.include CHECK_DATA_LOCAL_ACL_FILE
  accept
begin routers
local:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = {self.box}
  maildir_format
  user = Debian-exim
  group = Debian-exim
""")
        host.start(name, [PROGRAM, "-C", configuration, "-bdf"], port=self.port)
