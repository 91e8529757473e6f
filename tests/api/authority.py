# SPDX-License-Identifier: Apache-2.0
"""Certificates for the tests."""
import os
import subprocess


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """Signs certificates; all its files lie in a folder."""

    def __init__(self, folder, name="authority"):
        self.folder, self.name = folder, name
        self.certificate, self.key = self.path(".pem"), self.path(".key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=" + name, "-addext", "keyUsage=critical,keyCertSign", "-keyout", self.key, "-out",
                self.certificate)

    def path(self, tail):
        return os.path.join(self.folder, self.name + tail)

    def sign(self, name, purpose="serverAuth", days="2"):
        """A certificate and its key: two paths. The name stands for this machine, too."""
        key, request, out, extensions = (self.path(f"-{name}.{tail}") for tail in ("key", "csr", "pem", "ext"))
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={purpose}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
                "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-days", days, "-extfile", extensions, "-out", out)
        return out, key
