# SPDX-License-Identifier: Apache-2.0
"""Mails that are written so that a filter reads other words than a person: what is hidden, in disguise, or of another filter."""
from book import Model
from harness import equal, holds

MAIL = "message/rfc822"


def mail(body, kind="plain", header=""):
    return (f"From: Ann <ann@example.org>\nSubject: reminder\nMIME-Version: 1.0\n{header}"
            f"Content-Type: text/{kind}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{body}\n").encode()


def tokens(model, body, kind="plain", header=""):
    reply = model.post("tokenize", mail(body, kind, header), MAIL).ok()
    return {row["token"] for row in reply.json["tokens"]}


def learned_and_asked(api, learned, asked):
    """How sure a model is of what is written otherwise than what it has learned."""
    with Model(api, preset="mail") as model:
        for i in range(20):
            model.post("train?label=spam", mail(f"{learned} offer{i}"), MAIL).ok()
            model.post("train?label=ham", mail(f"ledger harbour note{i}"), MAIL).ok()
        return model.post("classify", mail(asked), MAIL).ok().json["probabilities"]["spam"]


def test_runs_are_known_however_long(api):
    for learned, asked in (("\U0001F3B0" * 3, "\U0001F3B0" * 5), ("!!!", "!!!!"), ("\U0001F44D\U0001F3FD", "\U0001F44D\U0001F3FD" * 4)):
        same, other = learned_and_asked(api, learned, learned), learned_and_asked(api, learned, asked)
        holds(other > same - 0.02, f"{learned} {same}, {asked} {other}")


def test_words_in_disguise_are_known(api):
    cases = {"مُجَّانًا": "مجانا", "مجـــانية": "مجانية", "שָׁלוֹם": "שלום", "ᴠɪᴀɢʀᴀ": "viagra", "v\u0336i\u0336a\u0336gra": "viagra",
             "\u202eargaiv\u202c": "viagra", "发 票 正 规": "发票", "🅥🅘🅐🅖🅡🅐": "viagra", "vi\u0430gra": "viagra"}
    with Model(api, preset="mail") as model:
        for written, read in cases.items():
            holds(read in tokens(model, written), f"{written!r}: {sorted(tokens(model, written))}")
            holds(read in tokens(model, f"<p>{written}</p>", "html"), f"{written!r} in HTML")
        holds("viagra" in tokens(model, "<bdo dir=rtl>argaiv</bdo>", "html"), "bdo")


def test_hidden_text_is_no_body(api):
    hidden = ["<div style='max-height:0'>zebra</div>", "<div style='position:absolute;left:-9999px'>zebra</div>",
              "<p style='opacity:.01'>zebra</p>", "<p style='font-size:.1em'>zebra</p>", "<p style='text-indent:-999em'>zebra</p>",
              "<style>.x{display:none}</style><p class='y x'>zebra</p>", "<p class=x>zebra</p><style>.x{opacity:0}</style>",
              "<style>@media screen{#x{font-size:1px}}</style><p id=x>zebra</p>"]
    shown = ["<style>@media print{.x{display:none}}</style><p class=x>zebra</p>",
             "<style>@media (max-width:600px){.desktop{display:none!important}}</style><p class=desktop>zebra</p>",
             "<style>.hide-desktop{display:none}@media (max-width:600px){.hide-desktop{display:block!important}}</style>"
             "<p class=hide-desktop>zebra</p>", "<p style='mso-hide:all'>zebra</p>", "<p style='font-size:9px;opacity:.8'>zebra</p>"]
    with Model(api, preset="mail") as model:
        for html in hidden:
            seen = tokens(model, html + "<p>harbour</p>", "html")
            holds("zebra" not in seen and "hidden:zebra" in seen and "harbour" in seen, f"{html}: {sorted(seen)}")
        for html in shown:
            seen = tokens(model, html + "<p>harbour</p>", "html")
            holds("zebra" in seen and "html:hidden" not in seen, f"{html}: {sorted(seen)}")


def test_verdicts_of_other_filters_are_no_words(api):
    names = ("X-TM-AS-Result", "X-KSE-AntiSpam-Info", "X-ME-Spam", "X-Yahoo-Filtered-Bulk", "X-Suspected-Spam", "X-Stalwart-Score",
             "X-Apple-MoveToFolder", "X-Acme-MailScanner-SpamCheck", "X-MS-Exchange-Organization-SCL", "X-Spam-Status")
    with Model(api, preset="mail") as model:
        plain = tokens(model, "harbour")
        for name in names:
            equal(tokens(model, "harbour", header=f"{name}: Yes, zebra\n"), plain, name)
        holds("x-mailer:zebra" in tokens(model, "harbour", header="X-Mailer: zebra\n"), "X-Mailer")
