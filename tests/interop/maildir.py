# SPDX-License-Identifier: Apache-2.0
"""What is in the folders of a Maildir++, byte for byte."""
import os
import re

from harness import equal, wait_for


def identity(mail):
    return re.search(rb"^Message-ID: [^\r\n]*", mail, re.M).group()


def stored(maildir, mail):
    """[(folder, bytes)] of the mails with the Message-ID of `mail`; the folder of the inbox is ""."""
    found = []
    for folder in sorted(["", *_subfolders(maildir)]):
        for part in ("new", "cur"):
            where = os.path.join(maildir, folder, part)
            for name in sorted(os.listdir(where) if os.path.isdir(where) else []):
                with open(os.path.join(where, name), "rb") as file:
                    content = file.read()
                if identity(mail) in content:
                    found.append((folder, content))
    return found


def _subfolders(maildir):
    return [name for name in os.listdir(maildir) if name.startswith(".")] if os.path.isdir(maildir) else []


def the_one(maildir, mail):
    """(folder, bytes) of the only copy of `mail`, once it is there."""
    found = wait_for(lambda: stored(maildir, mail), f"the mail is in {maildir}")
    equal(len(found), 1, f"copies of the mail, in {[folder for folder, _ in found]}")
    return found[0]
