# SPDX-License-Identifier: Apache-2.0
"""Correspondents and types of the documents in paperless-ngx: bayesd learns those that are set, and suggests others.

README.md beside this file says how it is used. It needs Python 3.9 and bayesd.py, beside it or in ../python.
"""
import argparse
import http.client
import json
import os
import sys
import unicodedata
import urllib.error
import urllib.parse
import urllib.request
from typing import IO, Any, Dict, Iterator, List, NamedTuple, Optional

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from bayesd import Bayesd, Problem  # noqa: E402  (needs the path above)

Json = Dict[str, Any]

PAGE = 50
REPLY_LIMIT = 256 << 20
SECONDS = 120.0
LEAST_KNOWN = .5
COUNTED = ("learned", "relabelled", "updated", "unchanged", "failed")


class Failed(Exception):
    """Why the run ends, for the user."""


class Kind(NamedTuple):
    """What a document has one of: the member of a document that is its id, the list of all, and the model."""
    field: str
    listing: str
    model: str


KINDS = (Kind("correspondent", "correspondents", "paperless-correspondent"),
         Kind("document_type", "document_types", "paperless-type"))


class Suggestion(NamedTuple):
    """`choice` is the id of the name; None: several things have the name."""
    document: int
    title: str
    name: str
    choice: Optional[int]
    probability: float


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another address."""

    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
                         headers: http.client.HTTPMessage, newurl: str) -> None:
        raise Failed(f"{req.full_url} leads to {newurl}: give the address that it leads to")


def member(of: Any, name: str, kind: type) -> Any:
    """The member of an object of a reply."""
    value = of.get(name) if isinstance(of, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Failed(f"a reply has no \"{name}\" as paperless-ngx gives it: is this its address?")
    return value


class Paperless:
    """The REST API of a paperless-ngx. All methods raise Failed."""

    def __init__(self, url: str, token: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise Failed(f"not an address of a paperless-ngx: {url!r}; http://HOST:PORT or https://HOST:PORT")
        self._url, self._token = url.rstrip("/"), token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def _call(self, method: str, path: str, value: Optional[Json] = None) -> Any:
        """The object of a reply."""
        url = self._url + path
        body = None if value is None else json.dumps(value).encode("ascii")
        headers = {"Authorization": "Token " + self._token, "Accept": "application/json",
                   "Content-Type": "application/json"}
        try:
            asked = urllib.request.Request(url, body, headers, method=method)
            with self._opener.open(asked, timeout=SECONDS) as reply:
                told = reply.read(REPLY_LIMIT + 1)
        except urllib.error.HTTPError as error:
            raise Failed(f"{method} {url}: {error.code} {error.reason}: {self._reason(error)}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Failed(f"{method} {url}: {getattr(error, 'reason', None) or error or type(error).__name__}") from None
        if len(told) > REPLY_LIMIT:
            raise Failed(f"{method} {url}: the reply has more than {REPLY_LIMIT} bytes")
        try:
            return json.loads(told)
        except (ValueError, RecursionError):
            raise Failed(f"{method} {url}: the reply is not JSON: is this the address of paperless-ngx?") from None

    @staticmethod
    def _reason(error: urllib.error.HTTPError) -> str:
        """What a refusal says, in short."""
        try:
            told = error.read(2000)
            value = json.loads(told)
            return str(value.get("detail", value) if isinstance(value, dict) else value)[:500]
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return "no reason is given"

    def pages(self, listing: str, **query: str) -> Iterator[List[Json]]:
        """The rows of a list, page by page. A page's link to the next one gives its query: behind a proxy its host is
        often a wrong one."""
        following: Optional[str] = urllib.parse.urlencode({**query, "page_size": PAGE, "ordering": "id"})
        asked = set()
        while following is not None:
            if following in asked:
                raise Failed(f"the pages of {listing} lead back to one that was read: ?{following}")
            asked.add(following)
            page = self._call("GET", f"/api/{listing}/?{following}")
            yield member(page, "results", list)
            link = page.get("next")
            following = None if link is None else urllib.parse.urlsplit(member(page, "next", str)).query

    def names(self, kind: Kind) -> Dict[int, str]:
        """The label of each correspondent, or type, by id."""
        return {member(row, "id", int): label_of(member(row, "name", str))
                for page in self.pages(kind.listing) for row in page}

    def documents(self, kind: Kind, is_set: bool) -> Iterator[List[Json]]:
        """Those that have one of the kind, or that have none; without those that have no text."""
        query = {kind.field + "__isnull": "false" if is_set else "true", "fields": f"id,title,content,{kind.field}"}
        for page in self.pages("documents", **query):
            yield [row for row in page if member(row, "id", int) and str(row.get("content") or "").strip()]

    def give(self, kind: Kind, suggestion: Suggestion) -> bool:
        """Sets what is suggested, unless somebody has set something meanwhile: false."""
        path = f"/api/documents/{suggestion.document}/"
        document = self._call("GET", path)
        member(document, "id", int)
        if document.get(kind.field) is not None:
            return False
        self._call("PATCH", path, {kind.field: suggestion.choice})
        return True


def label_of(name: str) -> str:
    """The label that bayesd makes of a name: composed, without spaces around it."""
    return unicodedata.normalize("NFC", name).strip()


def learn(paperless: Paperless, daemon: Bayesd, kind: Kind) -> int:
    """Teaches what is set in paperless. The number of documents that were refused."""
    names = paperless.names(kind)
    counts = dict.fromkeys(COUNTED, 0)
    for page in paperless.documents(kind, True):
        rows = [{"id": str(row["id"]), "text": str(row["content"]), "label": names[member(row, kind.field, int)]}
                for row in page if member(row, kind.field, int) in names]
        if not rows:
            continue
        told = daemon.train_batch(kind.model, rows, source="paperless")
        for name in COUNTED:
            counts[name] += told.get(name, 0)
        for row, result in zip(rows, told["results"]):
            if "error" in result:
                print(f"document {row['id']}: {result['error']['detail']}", file=sys.stderr)
    print(f"{kind.model}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return counts["failed"]


def is_sure(verdict: Json, least: float) -> bool:
    """A model with one label is sure of everything, and one that knows nothing of a text guesses."""
    return (verdict["probability"] >= least and len(verdict["probabilities"]) > 1
            and verdict.get("evidence") != "none" and verdict.get("decision") != "none")


def suggestions(paperless: Paperless, daemon: Bayesd, kind: Kind, least: float) -> Iterator[Suggestion]:
    """For documents that have none of the kind, as far as the model is sure enough."""
    choices: Dict[str, Optional[int]] = {}
    for number, name in paperless.names(kind).items():
        choices[name] = None if name in choices else number
    for page in paperless.documents(kind, False):
        texts = [str(row["content"]) for row in page]
        verdicts = daemon.classify_batch(kind.model, texts, min_known=LEAST_KNOWN) if texts else []
        for row, verdict in zip(page, verdicts):
            if "error" in verdict:
                print(f"document {row['id']}: {verdict['error']['detail']}", file=sys.stderr)
            elif is_sure(verdict, least) and verdict["label"] in choices:
                yield Suggestion(row["id"], str(row.get("title") or ""), verdict["label"],
                                 choices[verdict["label"]], verdict["probability"])


def suggest(paperless: Paperless, daemon: Bayesd, kind: Kind, least: float, is_applied: bool) -> None:
    """Prints the suggestions, and sets them if so wished: after all are found, since what is set leaves the pages."""
    try:
        found = list(suggestions(paperless, daemon, kind, least))
    except Problem as problem:
        if problem.status not in (404, 409):
            raise
        print(f"{kind.model}: nothing is learned yet", file=sys.stderr)
        return
    for suggestion in found:
        done = "suggested"
        if is_applied and suggestion.choice is None:
            done = "ambiguous"
        elif is_applied:
            done = "set" if paperless.give(kind, suggestion) else "set by somebody else"
        line = (str(suggestion.document), kind.field, suggestion.name, f"{suggestion.probability:.3f}", done,
                suggestion.title)
        print("\t".join("".join(c if c.isprintable() else " " for c in part) for part in line), flush=True)


def probability(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"not a probability: {text}")
    return value


def first_line(path: Optional[str]) -> Optional[str]:
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


def main() -> int:
    parser = argparse.ArgumentParser(description="bayesd learns from paperless-ngx who sent a document and what it is, "
                                                 "and suggests it for others.")
    parser.add_argument("verb", choices=("learn", "suggest"))
    parser.add_argument("--paperless", metavar="URL", default="http://127.0.0.1:8000", help="its address (%(default)s)")
    parser.add_argument("--paperless-token-file", metavar="FILE", required=True,
                        help="its first line is the API token of a user of paperless")
    parser.add_argument("--bayesd", metavar="URL", default="http://127.0.0.1:8763",
                        help="the daemon: http://HOST:PORT, https://HOST:PORT or unix:/PATH (%(default)s)")
    parser.add_argument("--token-file", metavar="FILE", help="its first line is the access token for bayesd")
    parser.add_argument("--least", metavar="P", type=probability, default=.9,
                        help="suggest what is at least so probable (%(default)s)")
    parser.add_argument("--apply", action="store_true", help="set in paperless what is suggested")
    options = parser.parse_args()
    failures = 0
    try:
        paperless = Paperless(options.paperless, first_line(options.paperless_token_file) or "")
        with Bayesd(options.bayesd, token=first_line(options.token_file), timeout=SECONDS) as daemon:
            for kind in KINDS:
                if options.verb == "learn":
                    failures += learn(paperless, daemon, kind)
                else:
                    suggest(paperless, daemon, kind, options.least, options.apply)
    except Failed as failed:
        sys.exit(f"bayesd_paperless: {failed}")
    except Problem as problem:
        sys.exit(f"bayesd_paperless: bayesd: {problem}")
    except (OSError, http.client.HTTPException, ValueError) as error:
        sys.exit(f"bayesd_paperless: {error or type(error).__name__}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
