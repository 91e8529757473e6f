# SPDX-License-Identifier: Apache-2.0
"""config/nodes: what the compose file and the unit's drop-in say is what bayesd and systemd know."""
import os
import re
import shutil
import subprocess

from harness import clean_environment, equal, holds
from nodes_options import key_file

try:
    import yaml  # Debian: python3-yaml
except ImportError:
    yaml = None

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*names):
    with open(os.path.join(TOP, "config", "nodes", *names), encoding="utf-8") as file:
        return file.read()


def variables(text):
    """{name: value} of the options that the services set, as the shell would fill them in."""
    found = re.findall(r'\b(BAYESD_[A-Z_]+): ("[^"]*"|[^\s,}]+)', text)
    return {name: re.sub(r"\$\{(\w+):\?[^}]*\}", "secret", value.strip('"')) for name, value in found}


def test_the_options_of_the_compose_file(api):
    """bayesd takes them all; one that it does not know it would refuse."""
    options = variables(read("compose.yaml"))
    equal(sorted(options), ["BAYESD_NODES_DATABASE", "BAYESD_NODES_KEY_FILE", "BAYESD_NODES_NAME", "BAYESD_NODES_URL"])
    equal(options["BAYESD_NODES_DATABASE"], "postgresql://bayesd:secret@postgres/bayesd")
    options["BAYESD_NODES_KEY_FILE"] = key_file(api)
    environment = {**clean_environment(), **options, "BAYESD_STORE_DATA": api.new_folder()}

    def check(**more):
        return subprocess.run([api.daemon.command[0], "--check-config"], capture_output=True, text=True, check=False,
                              env={**environment, **more})
    done = check()
    equal(done.returncode, 0, done.stdout + done.stderr)
    holds(check(BAYESD_NODES_PEER="x").returncode != 0, "an unknown one is refused")
    for option in re.findall(r'command: \["(--[a-z-]+)"\]', read("compose.yaml")):
        holds(option in subprocess.run([api.daemon.command[0], "--help"], capture_output=True, text=True, check=True).stdout, option)


def test_the_compose_file_is_whole(_):
    """What its services name is there: services, secrets, volumes, ports of their own."""
    if yaml is None:
        return
    found = yaml.safe_load(read("compose.yaml"))
    services, ports = found["services"], []
    for name, service in services.items():
        holds("image" in service, f"{name}: what it runs")
        for other, how in service.get("depends_on", {}).items():
            holds(how["condition"] != "service_healthy" or "healthcheck" in services[other], f"{name}: {other}")
            holds(how["condition"] != "service_completed_successfully" or services[other]["restart"] == "no", f"{name}: {other} ends")
        for secret in service.get("secrets", []):
            holds(secret in found["secrets"], f"{name}: {secret}")
            equal(service["environment"]["BAYESD_NODES_KEY_FILE"], f"/run/secrets/{secret}")
        for volume in service.get("volumes", []):
            holds(volume.partition(":")[0] in found["volumes"], f"{name}: {volume}")
        ports += service.get("ports", [])
        if name.startswith("node"):
            equal((service["environment"]["BAYESD_NODES_URL"], service["environment"]["BAYESD_NODES_NAME"]), (f"http://{name}:8763", name))
    equal(len(ports), len(set(ports)))


def test_the_drop_in(api):
    """systemd takes it, where it is installed."""
    text = read("bayesd.service.d", "nodes.conf")
    equal({line.partition("=")[0] for line in text.splitlines() if line[:1] not in ("#", "[", "")}, {"After", "Wants"})
    if shutil.which("systemd-analyze") is None:
        return
    folder = api.new_folder()
    with open(os.path.join(folder, "bayesd-of-a-test.service"), "w", encoding="utf-8") as file:
        file.write(text + "[Service]\nExecStart=/bin/true\n")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", file.name], capture_output=True, text=True, check=False)
    holds("bayesd-of-a-test" not in done.stderr, done.stderr)
