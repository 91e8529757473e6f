# SPDX-License-Identifier: Apache-2.0
"""The binary's command line, its start and what it tells the service manager."""
import hashlib
import os
import re
import socket
import stat
import subprocess

from harness import Client, config_text, equal, holds, patience

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def config_file(api, text):
    path = os.path.join(api.new_folder(), "test.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else config_text(text))
    return path


def test_version(api):
    status, out, err = api.tool("--version")
    equal((status, err), (0, ""))
    holds(re.search(r"\bbayesd\b.*\d+\.\d+", out), out)


def test_help(api):
    status, out, err = api.tool("--help")
    equal((status, err), (0, ""))
    for option in ("--config", "--data", "--listen", "--check-config", "--print-config", "--verify", "--version", "--help"):
        holds(option in out, f"{option} is not in the help")


def test_unknown_arguments(api):
    for arguments in (("--no-such-option",), ("-Z",), ("argument",), ("--config",), ("--data",)):
        status, out, err = api.tool(*arguments)
        holds(status in (2, 64), f"{arguments}: exit status {status}")
        holds(err and not out, f"{arguments}: {out!r} {err!r}")


def test_check_config(api):
    good = config_file(api, {"server": {"listen": "127.0.0.1:0", "timeout": 5}, "models": {"auto_create": "no"}})
    status, out, err = api.tool("--config", good, "--check-config")
    equal(status, 0, out + err)
    status, out, err = api.tool("--check-config")
    equal(status, 0, "the defaults: " + out + err)


def test_former_names_are_read_with_a_warning(api):
    """In the file, in the environment, and what stands twice under both names is refused."""
    old = config_file(api, {"filter": {"spam_label": "junk"}})
    for arguments, environment in ((("--config", old), {}), ((), {"BAYESD_FILTER_SPAM_LABEL": "junk"})):
        status, out, err = api.tool(*arguments, "--print-config", environment=environment)
        equal(status, 0, out + err)
        holds("\nspam_labels = junk\n" in out and "spam_label =" not in out, out)
        holds("warning" in err and "[filter] spam_label is [filter] spam_labels now" in err, err)
    new = config_file(api, {"filter": {"spam_labels": "junk"}})
    equal(api.tool("--config", new, "--check-config")[2], "", "no warning")
    both = config_file(api, {"filter": {"spam_label": "junk", "spam_labels": "junk"}})
    status, out, err = api.tool("--config", both, "--check-config")
    holds(status != 0 and "is set in line" in err, out + err)


def test_bad_configurations_are_told_by_line(api):
    cases = [
        ("[server]\nlisten = 127.0.0.1:0\nlistne = x\n", 3, "listne"),
        ("[sevrer]\nlisten = 127.0.0.1:0\n", 1, "sevrer"),
        ("[server]\n\n# comment\ntimeout = soon\n", 4, "timeout"),
        ("[server]\ntimeout = 0\n", 2, "timeout"), ("[server]\ntimeout = -1\n", 2, "timeout"),
        ("[server]\nbody_bytes = 64X\n", 2, "body_bytes"), ("[store]\nkeep_words = maybe\n", 2, "keep_words"),
        ("[log]\nlevel = loud\n", 2, "level"), ("[server]\nlisten = nowhere\n", 2, "listen"),
        ("[server]\nlisten = 127.0.0.1:99999\n", 2, "listen"),
        ("[server]\ntimeout = 5\ntimeout = 6\n", 3, "timeout"),
        ("[server]\ntimeout = 5\n[server]\nthreads = 1\n", 3, "server"),
        ("timeout = 5\n", 1, ""), ("[server\ntimeout = 5\n", 1, ""), ("[server]\ntimeout\n", 2, ""),
        ("[tokenizer]\ntokens = 99999999999999999999999\n", 2, "tokens"),
    ]
    for text, line, word in cases:
        path = config_file(api, text)
        for arguments in (("--check-config",), ("--print-config",), ("--data", api.new_folder())):
            status, out, err = api.tool("--config", path, *arguments)
            holds(status > 0, f"{text!r} {arguments}: exit status {status}")
            holds(f"{path}:{line}:" in err and word in err, f"{text!r} {arguments}: {err!r}")


def test_missing_configuration_file(api):
    status, _, err = api.tool("--config", "/no/such/file.conf", "--check-config")
    holds(status > 0 and "/no/such/file.conf" in err, err)


def printed(api, *arguments, environment=None):
    """--print-config as {(group, key): value}."""
    status, out, err = api.tool("--print-config", *arguments, environment=environment)
    equal(status, 0, err)
    values, group = {}, None
    for line in out.splitlines():
        if line.startswith("["):
            group = line.strip("[]")
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values[group, key.strip()] = value.strip()
    return values


def test_print_config_reads_back(api):
    changed = config_file(api, {"server": {"timeout": 7, "body_bytes": "3M", "insecure": "yes"}, "log": {"level": "debug"},
                                "store": {"data": "/tmp/a b", "map_size": 1048577}})
    status, out, err = api.tool("--config", changed, "--print-config")
    equal(status, 0, err)
    again = config_file(api, out)
    equal(printed(api, "--config", again), printed(api, "--config", changed))
    values = printed(api, "--config", again)
    equal((values["server", "timeout"], values["server", "body_bytes"], values["server", "insecure"]), ("7", "3M", "yes"))
    equal((values["store", "data"], values["store", "map_size"]), ("/tmp/a b", "1048577"))


def test_printed_configurations_hold_no_tokens(api):
    """But their hashes, so that the listing serves as a configuration."""
    plain, named, hashed = "plain-token-0123456789", "named-token-0123456789", "ab" * 32
    path = config_file(api, {"tokens": {"classify": f"{plain}, cron={named}", "admin": f"sha256:{hashed}"}})
    status, out, err = api.tool("--config", path, "--print-config")
    equal((status, err), (0, ""))
    holds(plain not in out and named not in out, out)
    hashes = [hashlib.sha256(token.encode()).hexdigest() for token in (plain, named)]
    values = printed(api, "--config", path)
    equal(values["tokens", "classify"], f"sha256:{hashes[0]}, cron=sha256:{hashes[1]}")
    equal((values["tokens", "train"], values["tokens", "admin"]), ("", f"sha256:{hashed}"))
    equal(printed(api, "--config", config_file(api, out)), values)


def test_printed_configurations_hold_no_passwords(api):
    """Of the database; nor do messages."""
    servers = "postgresql://bayesd:p@ss:w/rd@[::1]:5432/b?a=1 host=c password=w/rd"
    path = config_file(api, {"nodes": {"database": servers}})
    shown = "postgresql://bayesd:***@[::1]:5432/b?a=1 host=c password=***"
    equal(printed(api, "--config", path)["nodes", "database"], shown)
    status, out, err = api.tool("--config", config_file(api, {"nodes": {"database": servers + "," * 70000}}), "--check-config")
    holds(status > 0 and "database" in err and "w/rd" not in out + err, err)


def test_messages_show_no_tokens(api):
    token = "a-secret-token-0123456789"
    for text, word in ((f"train = {token} # of the gateway", "train"), (f"train = {token},\n  {token}", "bayesd"),
                       (f"admin = x\n{token} = 1", "bayesd"), (f"{token}", "bayesd"), ("admin = short-one", "admin")):
        path = config_file(api, "[tokens]\n" + text + "\n")
        for argument in ("--check-config", "--print-config"):
            status, out, err = api.tool("--config", path, argument)
            holds(status > 0 and word in err, (text, err))
            holds("secret" not in out + err and "short" not in out + err, (text, err))


def test_later_sources_win(api):
    """Default, file, environment, command line."""
    path = config_file(api, {"server": {"listen": "127.0.0.1:1001", "timeout": 5}, "store": {"data": "/tmp/file"}})
    environment = {"BAYESD_SERVER_LISTEN": "127.0.0.1:1002", "BAYESD_STORE_DATA": "/tmp/environment"}
    flags = ("--listen", "127.0.0.1:1003", "--data", "/tmp/flag")
    keys = [("server", "listen"), ("store", "data"), ("server", "timeout")]
    for arguments, env, want in (((), None, ("127.0.0.1:8763", None, "30")),
                                 (("--config", path), None, ("127.0.0.1:1001", "/tmp/file", "5")),
                                 (("--config", path), environment, ("127.0.0.1:1002", "/tmp/environment", "5")),
                                 (("--config", path, *flags), environment, ("127.0.0.1:1003", "/tmp/flag", "5"))):
        values = printed(api, *arguments, environment=env)
        for key, value in zip(keys, want):
            holds(value is None or values[key] == value, f"{key} is {values[key]!r}, want {value!r}: {arguments} {env}")


def test_every_option_is_taken_from_the_environment(api):
    other = {"yes": "no", "no": "yes", "info": "debug", "group": "all", "text": "json", "mildest": "each"}
    special = {"listen": "[::1]:7", "user_model": "of-%u", "rewrite_subject": "0.5", "client_role": "train",
               "label_actions": "spam=reject"}
    for (group, key), value in printed(api).items():
        if key in special:
            new = special[key]
        elif group == "tokens" and key in ("classify", "train", "admin"):
            new = "sha256:" + "ab" * 32
        elif value in other:
            new = other[value]
        elif value.rstrip("KMGT").isdigit():
            digits = value.rstrip("KMGT")
            new = str(int(digits) + 1) + value[len(digits):]
        elif value.startswith("0."):
            new = f"{(float(value) + 0.95) / 2:g}"  # they stay in their order
        else:
            new = "elsewhere" if group == "filter" else "/tmp/elsewhere"
        name = f"BAYESD_{group}_{key}".upper()
        equal(printed(api, environment={name: new})[group, key], new, name)


def test_bad_environment(api):
    for name, value in (("BAYESD_SERVER_TIMEOUT", "soon"), ("BAYESD_SERVER_TIMEOOT", "5"), ("BAYESD_X", "1")):
        status, _, err = api.tool("--check-config", environment={name: value})
        holds(status > 0 and name in err, f"{name}={value}: {status} {err!r}")


def test_bad_command_line_values(api):
    for arguments in (("--listen", "nowhere"), ("--listen", "127.0.0.1"), ("--listen", "127.0.0.1:99999"), ("--listen", ""),
                      ("--listen", "[::1:0"), ("--data", "")):
        status, _, err = api.tool(*arguments, "--check-config")
        holds(status > 0 and arguments[0] in err, f"{arguments}: {status} {err!r}")


def test_ready_line_and_port_zero(api):
    daemon = api.another().start()
    ready = [line for line in daemon.lines if "bayesd: ready on" in line]
    equal(ready, [f"bayesd: ready on http://127.0.0.1:{daemon.port}"])
    holds(daemon.port > 0, daemon.port)
    daemon.client.get("/healthz").ok()
    daemon.stop()


def test_ready_line_goes_to_standard_error(api):
    daemon = api.another()
    process = subprocess.Popen(daemon.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=daemon.environment)
    try:
        for line in process.stderr:
            if b"bayesd: ready on " in line:
                break
        else:
            raise AssertionError("no ready line")
        process.terminate()
        out, _ = process.communicate(timeout=patience(20))
        equal((process.returncode, out), (0, b""), "standard output")
    finally:
        process.kill()
        process.wait()


def test_a_fixed_port_that_is_taken(api):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        daemon = api.another(listen=f"127.0.0.1:{port}")
        daemon.spawn()
        status = daemon.wait(20)
        holds(status > 0, status)
        holds(f"127.0.0.1:{port}: Address already in use (--listen names another one)" in daemon.output(), daemon.output())


def test_listening_on_ipv6(api):
    daemon = api.another(listen="[::1]:0").start()
    equal(daemon.url, f"http://[::1]:{daemon.port}")
    daemon.client.get("/healthz").ok()
    daemon.stop()


def test_other_addresses_need_to_be_allowed(api):
    for listen in ("0.0.0.0:0", "[::]:0"):
        daemon = api.another(listen=listen)
        daemon.spawn()
        status = daemon.wait(20)
        holds(status > 0, f"{listen}: exit status {status}")
        holds("insecure" in daemon.output(), daemon.output())
        allowed = api.another(listen=listen, config={"server": {"insecure": "yes"}}).start()
        client = Client("127.0.0.1" if listen.startswith("0") else "::1", allowed.port)
        client.get("/healthz").ok()
        client.close()
        allowed.stop()
    for listen in ("127.0.0.1:0", "127.8.8.8:0"):
        daemon = api.another(listen=listen).start()
        daemon.stop()


def notifications(api, name):
    """What a daemon tells the service manager's socket, from start to end."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name if not name.startswith("@") else "\0" + name[1:])
        manager.settimeout(patience(20))
        daemon = api.another(environment={"NOTIFY_SOCKET": name}).start()
        first = manager.recv(4096).decode().splitlines()
        daemon.client.get("/readyz").ok()  # what was promised holds at once
        daemon.stop()
        manager.settimeout(0)
        rest = []
        try:
            while True:
                rest += manager.recv(4096).decode().splitlines()
        except BlockingIOError:
            return first, rest


def test_notifies_the_service_manager(api):
    for name in (os.path.join(api.new_folder(), "notify"), f"@bayesd-test-{os.getpid()}"):
        first, rest = notifications(api, name)
        holds("READY=1" in first, first)
        holds("STOPPING=1" in rest, rest)


def test_a_notify_socket_that_is_not_there(api):
    daemon = api.another(environment={"NOTIFY_SOCKET": "/no/such/socket"}).start()
    daemon.client.get("/healthz").ok()
    daemon.stop()


def test_no_text_in_the_log(api):
    daemon = api.another(config={"log": {"level": "debug"}}).start()
    daemon.client.post("/v1/models/m/train", {"text": "confidential", "label": "a", "id": "i"}).ok()
    daemon.client.post("/v1/models/m/classify", {"text": "confidential"}).ok()
    daemon.client.post("/v1/models/m/classify", '{"text": "confidential", "x": 1}', "application/json")
    daemon.client.post("/v1/models/m/classify", '{"text": "confidential', "application/json")
    daemon.stop()
    holds("confidential" not in "\n".join(daemon.lines), "a document's text is in the log")


def test_data_directory_is_made(api):
    path = os.path.join(api.new_folder(), "new")
    daemon = api.another(data=path).start()
    equal(os.stat(path).st_mode & 0o077, 0, "others can read the data")
    daemon.stop()


# ---- what an administrator should know ----------------------------------------------------------
NOBODY = 65534


def test_running_as_root_is_warned_about(api):
    daemon = api.another().start()
    daemon.stop()
    warnings = [line for line in daemon.lines if "root" in line]
    equal(len(warnings), os.geteuid() == 0, warnings)
    if os.geteuid() != 0:
        return
    folder = api.new_folder()
    os.chown(folder, NOBODY, NOBODY)
    os.chmod(os.path.dirname(folder), 0o711)
    daemon = api.another(data=folder, preexec=lambda: os.setuid(NOBODY)).start()
    daemon.stop()
    equal([line for line in daemon.lines if "root" in line], [])


def test_tokens_that_everybody_can_read_are_warned_about(api):
    token = "a-secret-token-0123456789"
    hashed = "sha256:" + hashlib.sha256(token.encode()).hexdigest()
    for value, mode, warned in ((token, 0o644, 1), (token, 0o640, 0), (hashed, 0o644, 0), ("", 0o644, 0)):
        daemon = api.another(config={"tokens": {"admin": value}})
        path = daemon.command[daemon.command.index("--config") + 1]
        os.chmod(path, mode)
        daemon.start().stop()
        lines = [line for line in daemon.lines if "everybody" in line]
        equal(len(lines), warned, (value, oct(mode), lines))
        holds(token not in daemon.output(), "the token is in the log")


def install_configuration(folder):
    """`make install`, but for the programs, as for a package."""
    subprocess.run(["make", "-s", "install-configuration", "DESTDIR=" + folder], cwd=REPOSITORY, check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(folder, "etc/bayesd/bayesd.conf")


def test_the_installed_configuration_is_not_for_everybody(api):
    folder = api.new_folder()
    path = install_configuration(folder)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o640)
    status, out, err = api.tool("--config", path, "--check-config")
    equal(status, 0, out + err)
    with open(os.path.join(folder, "usr/local/lib/sysusers.d/bayesd.conf"), encoding="utf-8") as file:
        holds("u bayesd " in file.read(), "its user")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[server]\n")
    os.chmod(path, 0o600)
    install_configuration(folder)
    with open(path, encoding="utf-8") as file:
        equal(file.read(), "[server]\n", "what is there is kept")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
