# SPDX-License-Identifier: Apache-2.0
"""Users with models of their own: what Dovecot's login name teaches is what the milter's addresses are judged by."""
import postfix
import test_dovecot
from harness import TAG_ONLY, equal, free_port, intact, wait_for
from mails import RECIPIENT
from prometheus import parse
from test_dovecot import Mailbox, documents

LOGIN, MODEL = "gbob", "mail-gbob"
# Who is who, as of config/MAIL.md.
USERS = """bob@example.org gbob
@example.org %l
"""
NAMES = ("gbob@example.org", "GBob@Example.ORG", "gbob+lists@example.org", "bob@example.org")
TAUGHT = 20  # of each label; a user's model is asked from ten on


def prepare(host):
    """Dovecot and Postfix with bayesd-milter, as their pages say; one bayesd behind both."""
    test_dovecot.prepare(host)
    test_dovecot.write_script(host, {"#exec curl": "exec curl"})
    port = free_port()
    host.start("bayesd-milter", [host.milter, "--socket", f"inet:{port}@127.0.0.1", "--url", host.url, "--pause", "0"], port=port)
    host.mta = postfix.Postfix(host, host.integration(
        "postfix-milter/main.cf", {"inet:127.0.0.1:8764": f"inet:127.0.0.1:{port}"})
        + "virtual_mailbox_domains = example.net, example.org\n")
    host.users = {"user_model": "mail-%u", "user_map": host.write("users", USERS)}
    host.start_bayesd(**host.users)
    teach(host)


def teach(host):
    """The user wants what others call spam, and throws into Junk what they call ham."""
    with Mailbox(host, LOGIN) as box:
        for _ in range(TAUGHT):
            box.store("Junk", host.mail("ham"))
            wanted = host.mail("spam")
            box.store("Junk", wanted)
            box.move(wanted, "Junk", "INBOX")
    equal(documents(host, MODEL), (TAUGHT, TAUGHT), "what the login name has taught")


def status(host, kind, *recipients):
    """What the recipients read of a mail: the verdict, and whose model has judged. No mail is refused."""
    host.start_bayesd(**host.users, **TAG_ONLY)
    mail = host.mail(kind)
    code, text = host.send(host.mta.port, mail, recipients)
    equal(code, 250, text)
    copies = wait_for(lambda: (found := host.copies(host.mta.box, mail))[len(recipients) - 1:] and found,
                      f"{len(recipients)} copies are delivered")
    intact(copies[0], mail, ["X-Bayes-Status"])
    verdict, _, model = copies[0]["X-Bayes-Status"].split(", ")
    return verdict, model


def test_every_name_of_the_user_is_judged_by_what_the_login_taught(host):
    for name in NAMES:
        equal(status(host, "spam", name), ("ham", "model=" + MODEL), name)
        equal(status(host, "ham", name), ("spam", "model=" + MODEL), name)


def test_two_names_of_one_user_are_one_user(host):
    equal(status(host, "ham", "gbob@example.org", "bob@example.org"), ("spam", "model=" + MODEL))


def test_a_mail_to_others_too_is_not_judged_by_his_alone(host):
    """The mildest verdict, and no name, as others read it."""
    equal(status(host, "ham", "gbob@example.org", "alice@example.org"), ("ham", "model=mail-%u"))


def test_others_are_judged_by_the_model_of_all(host):
    for name in ("alice@example.org", "gbob@example.net", RECIPIENT):
        equal(status(host, "spam", name), ("spam", "model=mail"), name)


def test_what_he_throws_away_is_refused(host):
    """Also for his alias; what all others call spam he gets."""
    host.start_bayesd(**host.users)
    mail = host.mail("ham")
    code, text = host.send(host.mta.port, mail, ["bob@example.org"])
    equal((code, "5.7.1" in text), (550, True), text)
    equal(host.send(host.mta.port, host.mail("spam"), ["gbob@example.org"])[0], 250, "what he wants")


def test_he_is_counted_once(host):
    """Taught by his login name and asked for by his addresses: one user, and not one who teaches for nothing."""
    host.start_bayesd(**host.users, unsure=0.4)  # counted since the start
    mail = host.mail("ham")
    with Mailbox(host, LOGIN) as box:
        box.store("Junk", mail)
    equal(seen(host), {"taught": 1, "asked": 0, "both": 0}, "taught")
    for name in NAMES:
        host.send(host.mta.port, host.mail("spam"), [name])
    equal(seen(host), {"taught": 0, "asked": 0, "both": 1}, "asked")


def seen(host):
    metrics = parse(host.http.get("/metrics").ok().body.decode())
    return {kind: metrics.value("bayesd_filter_users", seen=kind) for kind in ("taught", "asked", "both")}
