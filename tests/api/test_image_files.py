# SPDX-License-Identifier: Apache-2.0
"""config/image: what the compose file and the files of the images name is there. scripts/check-image runs them."""
import ipaddress
import os
import re
import subprocess

from harness import clean_environment, equal, holds

try:
    import yaml  # Debian: python3-yaml
except ImportError:
    yaml = None

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*names):
    with open(os.path.join(TOP, *names), encoding="utf-8") as file:
        return file.read()


def test_the_options_of_the_compose_file(api):
    """bayesd and bayesd-milter take them; the numbers of the image's user are the same everywhere."""
    if yaml is None:
        return
    services = yaml.safe_load(read("config", "image", "compose.yaml"))["services"]
    environment = {**clean_environment(), **services["bayesd"]["environment"], "BAYESD_STORE_DATA": api.new_folder()}
    done = subprocess.run([api.daemon.command[0], "--check-config"], capture_output=True, text=True, check=False, env=environment)
    equal(done.returncode, 0, done.stdout + done.stderr)
    equal(services["milter"]["entrypoint"] + services["milter"]["command"], ["/usr/bin/bayesd-milter", "--url", "http://bayesd:8763"],
          "scripts/check-image starts this")


def test_the_compose_file_is_whole(_):
    """Its services, volumes, addresses, files and names are those of each other."""
    if yaml is None:
        return
    found = yaml.safe_load(read("config", "image", "compose.yaml"))
    services, network = found["services"], ipaddress.ip_network(found["networks"]["inside"]["ipam"]["config"][0]["subnet"])
    addresses = {}
    for name, service in services.items():
        context = os.path.join(TOP, "config", "image", service["build"]["context"])
        holds(os.path.exists(os.path.join(context, service["build"].get("dockerfile", "Dockerfile"))), f"{name}: its Dockerfile")
        for other in service.get("depends_on", []):
            holds(other in services, f"{name}: {other}")
        for volume in service.get("volumes", []):
            place = volume.partition(":")[0]
            holds(place in found["volumes"] or place == "./users", f"{name}: {volume}")
        if "networks" in service:
            addresses[name] = service["networks"]["inside"]["ipv4_address"]
            holds(ipaddress.ip_address(addresses[name]) in network, addresses[name])
        if service["image"] == "bayesd":
            equal((service["read_only"], service["cap_drop"], service["security_opt"]), (True, ["ALL"], ["no-new-privileges:true"]))
    equal(services["milter"]["network_mode"], "service:mail")
    options = services["bayesd"]["environment"]
    equal(options["BAYESD_TOKENS_TRUSTED"], addresses["mail"])
    equal(options["BAYESD_SERVER_HOSTS"], "bayesd")
    holds(f"http://{options['BAYESD_SERVER_HOSTS']}:8763/learn" in read("config", "image", "mail", "bayesd-learn"), "the name")


def test_the_files_of_the_images(_):
    """What a Dockerfile copies is there, and may be run where it is run."""
    for name in ("Dockerfile", "config/image/mail/Dockerfile"):
        text = read(*name.split("/"))
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
            for source in line.split():
                holds(os.path.exists(os.path.join(TOP, source)), f"{name}: {source}")
                if os.path.basename(source) in ("start", "health", "bayesd-learn"):
                    holds(os.access(os.path.join(TOP, source), os.X_OK), source)
    text = read("Dockerfile")
    equal(set(re.findall(r"(?:--uid|--gid|USER) (\d+)", text)), {"8763"})
    holds('HEALTHCHECK' in text and '["/usr/local/bin/health"]' in text, "the health check")
