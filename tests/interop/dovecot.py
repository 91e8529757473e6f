# SPDX-License-Identifier: Apache-2.0
"""A Dovecot with IMAP on a free port, and a Maildir for whoever has the password."""
import imaplib

from harness import free_port

PASSWORD = "secret"
SETTINGS = """
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/dovecot.log
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{home}/%u/Maildir
first_valid_uid = 1
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={home}/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


class Dovecot:
    """Its settings and folders. A test writes its configuration around `settings`, and starts it."""

    def __init__(self, host):
        self.host, self.port = host, free_port()
        self.base, self.homes = host.path("dovecot"), host.path("homes", owner="mail")
        self.settings = SETTINGS.format(base=self.base, home=self.homes, password=PASSWORD, port=self.port)

    def start(self, configuration):
        self.host.start("dovecot", ["dovecot", "-F", "-c", configuration], self.port)

    def log_in(self, user):
        imap = imaplib.IMAP4("127.0.0.1", self.port, timeout=60)
        imap.login(user, PASSWORD)
        return imap

    def log(self):
        with open(self.base + "/dovecot.log", encoding="utf-8") as file:
            return file.read()
