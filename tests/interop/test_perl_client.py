# SPDX-License-Identifier: Apache-2.0
"""Perl's Mail::SpamAssassin::Client against bayesd: what each method returns, and what is learned then."""
import json

from harness import equal, holds
from test_spamc import REQUIRED, labels, marked

# METHOD [ARGUMENT] with the mail on standard input: what the method returns and, of an error, the reply's code.
SCRIPT = """
use strict; use warnings; use JSON::PP; use Mail::SpamAssassin::Client;
my ($port, $user, $method, @arguments) = @ARGV;
my $client = Mail::SpamAssassin::Client->new({host => '127.0.0.1', port => $port, username => $user});
binmode STDIN;
my $mail = do { local $/; <STDIN> };
my $returned = $client->$method($method eq 'ping' ? () : $mail, @arguments);
$returned = $returned ? 1 : 0 if defined $returned && !ref $returned;
print JSON::PP->new->ascii->encode({returned => $returned, code => $client->{resp_code}});
"""
SPAM, HAM, FORGET = 0, 1, 2  # of learn
USER = "Perl@Example.NET"


def call(host, method, mail=b"", *arguments, user=USER):
    """What the method returns: a dictionary, 1 or 0, or None for an error."""
    command = ["perl", "-e", SCRIPT, str(host.port), user, method, *map(str, arguments)]
    return json.loads(host.run(command, mail, status=0)[1])


def verdict(host, method, kind, mail):
    said = call(host, method, mail)
    equal(int(said["code"]), 0, str(said))
    found = said["returned"]
    equal((found["isspam"], found["threshold"]), ("True" if kind == "spam" else "False", REQUIRED), f"{method} of {kind}")
    equal(found["score"] >= REQUIRED, kind == "spam", f"score in {found}")
    return found


def done(host, method, mail, *arguments):
    """1 or 0: whether the client says that it was done."""
    said = call(host, method, mail, *arguments)
    equal(int(said["code"]), 0, str(said))
    return said["returned"]


def test_ping(host):
    equal(call(host, "ping")["returned"], 1)


def test_check(host):
    for kind in ("spam", "ham"):
        holds("message" not in verdict(host, "check", kind, host.mail(kind)), f"check of {kind} returns a mail")


def test_process(host):
    for kind in ("spam", "ham"):
        mail = host.mail(kind)
        found = verdict(host, "process", kind, mail)
        equal(int(found["content_length"]), len(found["message"]), f"length of {kind}")
        marked(found["message"].encode("latin-1"), mail, kind == "spam")


def test_headers(host):
    for kind in ("spam", "ham"):
        header = verdict(host, "headers", kind, host.mail(kind))["message"]
        holds("\nX-Spam-Status: " in "\n" + header, header)


def test_reports_of_a_verdict(host):
    for method in ("spam_report", "spam_report_ifspam"):
        holds("BAYES_SPAM" in call(host, method, host.mail("spam"))["returned"]["report"], method)
    holds("BAYES_HAM" in call(host, "spam_report", host.mail("ham"))["returned"]["report"], "spam_report of ham")
    holds("report" not in call(host, "spam_report_ifspam", host.mail("ham"))["returned"], "spam_report_ifspam of ham")


def test_learn(host):
    """What is done is 1; what was known or was never learned is 0, and changes nothing."""
    host.start_bayesd(model="perl-learned")
    mail = host.mail("spam")
    for kind, said, now in ((SPAM, 1, (1, 0)), (SPAM, 0, (1, 0)), (HAM, 1, (0, 1)), (FORGET, 1, (0, 0)), (FORGET, 0, (0, 0))):
        equal(done(host, "learn", mail, kind), said, f"learn {kind}")
        equal(labels(host, "perl-learned"), now, f"(spam, ham) after learn {kind}")


def test_report_and_revoke(host):
    """What the model of all has is reported, again and again; what is no spam any more cannot be revoked."""
    host.start_bayesd(model="perl-reported")
    mail = host.mail("spam")
    for method, said, now in (("report", 1, (1, 0)), ("report", 1, (1, 0)), ("revoke", 1, (0, 1)), ("revoke", 0, (0, 1))):
        equal(done(host, method, mail), said, method)
        equal(labels(host, "perl-reported"), now, f"(spam, ham) after {method}")


def test_a_user_with_a_model_of_his_own(host):
    """learn says what the user's model has learned; report and revoke 0, as nobody else gets to know."""
    host.start_bayesd(user_model="mail-%u")
    mine, before, mail = "mail-perl@example.net", labels(host), host.mail("spam")
    for method, arguments, said, now in (("report", (), 0, (1, 0)), ("revoke", (), 0, (0, 1)), ("learn", (SPAM,), 1, (1, 0))):
        equal(done(host, method, mail, *arguments), said, method)
        equal(labels(host, mine), now, f"(spam, ham) of the user after {method}")
    equal(labels(host), before, "(spam, ham) of all")


def test_a_mail_of_spamc_is_the_same_document(host):
    """The client ends a mail that it teaches with one more line end than spamc."""
    host.start_bayesd(model="perl-spamc")
    mail = host.mail("spam")
    host.run(["spamc", "-F", "/dev/null", "-d", "127.0.0.1", "-p", str(host.port), "-L", "spam"], mail)
    equal(labels(host, "perl-spamc"), (1, 0), "spamc")
    equal((done(host, "learn", mail, HAM), labels(host, "perl-spamc")), (1, (0, 1)), "learned as ham")


def test_what_cannot_be_done_is_an_error(host):
    """A name that no model can have: nothing is taught, so no value, and the code of faulty data."""
    host.start_bayesd(user_model="mail-%u")
    for method, arguments in (("learn", (SPAM,)), ("report", ()), ("revoke", ())):
        said = call(host, method, host.mail("spam"), *arguments, user="x" * 300)
        equal((said["returned"], said["code"]), (None, "65"), method)
