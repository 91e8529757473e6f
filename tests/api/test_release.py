# SPDX-License-Identifier: Apache-2.0
"""What a release says of itself: one version everywhere, and what CHANGELOG.md tells of it."""
import hashlib
import json
import os
import re
import shutil
import subprocess

from harness import equal, holds, patience

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# What scripts/version reads and writes.
VERSIONED = ("scripts/version", "server/base/version.h", "server/api/openapi.json", "debian/changelog", "debian/control",
             "CHANGELOG.md", "config/packaging/bayesd.spec")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def script(name, *arguments, top=TOP, status=0, environment=None):
    done = subprocess.run([os.path.join(top, "scripts", name), *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})}, timeout=patience(60))
    equal(done.returncode, status, f"{name} {arguments}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


def copy_of(api, names):
    folder = api.new_folder()
    for name in names:
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
        shutil.copy(os.path.join(TOP, name), os.path.join(folder, name))
    return folder


def test_one_version(api):
    version = script("version").strip()
    equal(script("version", "--check"), "")
    equal(api.tool("--version")[1].split(), ["bayesd", version])
    equal(api.get("/openapi.json").ok().json["info"]["version"], version)


def test_another_version_is_one_edit(api):
    folder = copy_of(api, VERSIONED)
    header = read(folder, "server/base/version.h")
    write(re.sub(r'(VERSION ").*"', r'\g<1>7.8.9"', header), folder, "server/base/version.h")
    told = script("version", "--check", top=folder, status=1)
    equal([line.split()[0] for line in told.splitlines()], ["server/api/openapi.json", "debian/changelog", "config/packaging/bayesd.spec"])
    before = read(folder, "debian/changelog")
    script("version", "--write", top=folder, environment={"SOURCE_DATE_EPOCH": "1800000000"})
    equal(script("version", "--check", top=folder), "")
    after = read(folder, "debian/changelog")
    holds(after.startswith("bayesd (7.8.9-0bayesd1) unstable;") and after.endswith("\n\n" + before), after)
    holds("  Fri, 15 Jan 2027 08:00:00 +0000\n" in after, after)
    script("version", "--write", top=folder)
    equal(read(folder, "debian/changelog"), after, "written once")


def test_what_changes(api):
    folder = copy_of(api, VERSIONED)
    version = script("version").strip()
    text = "# Changes\n\n## {}\n\nNew.\n\n### Part\n\n- This.\n\n## 0.0.1, 2026-01-02\n\nOld.\n"
    for heading, status in ((f"{version}, 2026-12-24", 0), (version, 0), ("Unreleased", 3)):
        write(text.format(heading), folder, "CHANGELOG.md")
        equal(script("version", "--notes", top=folder, status=status), "New.\n\n### Part\n\n- This.\n", heading)
    write(text.format("9.9.9"), folder, "CHANGELOG.md")
    script("version", "--notes", top=folder, status=1)


def test_the_headings_of_the_changes(_api):
    """The newest first; what is not released, if there is any, before all of them."""
    headings = re.findall(r"^## (.*)$", read(TOP, "CHANGELOG.md"), re.M)
    holds(headings, "no heading")
    for at, heading in enumerate(headings):
        holds(re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d{2}-\d{2}", heading) or (heading, at) == ("Unreleased", 0), heading)
    released = [tuple(map(int, heading.split(",")[0].split("."))) for heading in headings if heading != "Unreleased"]
    equal(released, sorted(set(released), reverse=True))


def packaged(api, name, version):
    """A Debian package with the daemon that is tested, and the folder that it lies in."""
    folder = api.new_folder()
    tree = os.path.join(folder, "tree")
    os.makedirs(os.path.join(tree, "usr", "bin"))
    os.makedirs(os.path.join(tree, "DEBIAN"))
    shutil.copy(api.binary, os.path.join(tree, "usr", "bin", name))
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    write(f"Package: {name}\nVersion: {version}-1\nArchitecture: {architecture}\nMaintainer: x <x@example.org>\n"
          "Description: x\n", tree, "DEBIAN", "control")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, os.path.join(folder, f"{name}_{version}-1_{architecture}.deb")],
                   capture_output=True, check=True)
    shutil.rmtree(tree)
    return os.path.join(folder, f"{name}_{version}-1_{architecture}.deb")


def check_bill(text, package):
    document = json.loads(text)
    equal((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"))
    parts = {part["name"]: part for part in document["components"]}
    refs = [part["bom-ref"] for part in document["components"]] + ["bayesd"]
    equal(len(refs), len(set(refs)), "each once")
    depends = {entry["ref"]: entry["dependsOn"] for entry in document["dependencies"]}
    equal(sorted(depends), sorted(refs), "each says what it needs")
    holds(all(ref in refs for needs in depends.values() for ref in needs), "what is needed is listed")
    with open(package, "rb") as file:
        equal(parts["bayesd"]["hashes"][0]["content"], hashlib.sha256(file.read()).hexdigest())
    for name in ("liblmdb0", "libjansson4", "libc6"):
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True).stdout
        equal(parts[name]["version"], version, name)
        holds(parts[name]["bom-ref"] in depends[os.path.basename(package)], f"bayesd loads {name}")
    equal(parts["libjansson4"]["licenses"], [{"license": {"name": "Expat"}}])


def test_what_it_links(api):
    package = packaged(api, "bayesd", script("version").strip())
    text = script("sbom", package)
    check_bill(text, package)
    equal(script("sbom", package), text, "the same list again")


# Instead of those that take minutes: the builder of packages hands over what is made already, the others fail.
BUILDER = '#!/bin/sh\ncp "$PACKAGE" .. && touch ../bayesd_1_any.buildinfo\n'
FAILING = "#!/bin/sh\nexit 1\n"


def test_a_release(api):
    version = script("version").strip()
    # Little of the source: scripts/check-install packs the whole.
    top = copy_of(api, (*VERSIONED, *(f"scripts/{name}" for name in ("pack", "release", "sbom", "source-date"))))
    folder = api.new_folder()
    os.mkdir(os.path.join(folder, "bin"))
    for name, text in (("dpkg-buildpackage", BUILDER), ("mmdebstrap", FAILING), ("buildah", FAILING)):
        write(text, folder, "bin", name)
        os.chmod(os.path.join(folder, "bin", name), 0o755)
    package = packaged(api, "bayesd", version)
    environment = {"PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "PACKAGE": package}
    out = os.path.join(folder, "out")
    said = script("release", out, top=top, environment=environment)
    for part in ("arm64", "image"):
        holds(f"not in it: {part}: " in said, said)
    script("release", "--with", "arm64", os.path.join(folder, "arm64"), top=top, environment=environment, status=1)
    script("release", out, top=top, environment=environment, status=2)
    script("release", "--with", "amiga", os.path.join(folder, "other"), top=top, environment=environment, status=2)
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=out, check=True)
    sums = {line.split("  ")[1]: line.split("  ")[0] for line in read(out, "SHA256SUMS").splitlines()}
    equal(sorted([*sums, "SHA256SUMS"]), sorted(os.listdir(out)), "of everything")
    architecture = package.rsplit("_", 1)[1].removesuffix(".deb")
    check_bill(read(out, f"bayesd-{version}-{architecture}.cdx.json"), package)
    tag = read(out, f"bayesd-{version}.tag")
    holds(tag.startswith(f"bayesd {version}\n\n") and sums[f"bayesd-{version}.tar.gz"] in tag, tag[-200:])
    equal(sums[f"bayesd-{version}.tar.gz"], packed_again(top, folder, version), "the tarball is that of the source")


def packed_again(top, folder, version):
    script("pack", f"bayesd-{version}", os.path.join(folder, "again.tar.gz"), top=top)
    with open(os.path.join(folder, "again.tar.gz"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_fuzz_targets_have_what_belongs_to_them(_api):
    """Each folder of seeds is of a target, and each dictionary has lines that libFuzzer reads."""
    fuzz = os.path.join(TOP, "tests", "fuzz")
    names = {name[5:-2] for name in os.listdir(fuzz) if name.startswith("fuzz_") and name.endswith(".c")}
    holds(len(names) > 20, names)
    equal(sorted(set(os.listdir(os.path.join(fuzz, "corpus"))) - names), [])
    for name in names:
        told = subprocess.run([os.path.join(fuzz, "dictionary"), name], capture_output=True, text=True, check=True).stdout
        for line in told.splitlines():
            holds(line.startswith("# ") or re.fullmatch(r'"(?:[ !#-\[\]-~]|\\x[0-9a-f]{2})+"', line), f"{name}: {line}")
