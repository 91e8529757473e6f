# SPDX-License-Identifier: Apache-2.0
"""What must have become of all that clients asked several nodes for: a slow model of the history.

Each request that may have changed something is an Event: one that was acknowledged has the number of its receipt, which is
its place in the order of changes. Others float: those without an answer, or with an answer that promises nothing, were
made at any place after they were sent, once or not at all; those whose reply has no number were made between what was
acknowledged before they were sent and what was sent after their reply; and those that go from document to document (an
undo, a merge, the end of a label) meet each of them at a place of its own, but for one that is changed meanwhile. settle()
goes through the events of each model in the order of their numbers, and looks for places of what floats that give what each receipt said and what a node has.
There must be some; what does not float leaves no choice. Then the account is that of what is there, and nothing floats.

A document is a chain of (source, label, text): what it is now, and what it was before, for who undoes. Each request has a
source of its own, and nodes show it, so that of two requests that asked for the same the right one is seen.
"""
import bisect
import itertools
import json
import threading
import time
from collections import namedtuple

from acknowledged import Acknowledged, exported, models_of, path_of
from harness import equal, holds

MODEL = ""  # in the place of a document's id: the model itself, whose chain has its settings
COPIES = "copy."  # how names of models begin that are copies: nodes must have the same, whatever that is
MOST_PLACES = 20000
NEVER = float("inf")
SWEEPS = ("undo", "merge", "delete_label")
Row = namedtuple("Row", "source label text reviewed", defaults=(False,))  # reviewed: somebody gave the label by its id


class Event:
    """`kind` and what it needs to be applied; `ids` are the documents that it touches, None: all, and the model."""

    def __init__(self, model, kind, source, ids=None, **what):
        self.model, self.kind, self.source, self.ids, self.what = model, kind, source, ids, what
        self.number, self.after, self.before, self.is_certain, self.said = None, 0, NEVER, False, None
        self.ended = NEVER  # the first number of what was sent after its reply: `before`, but for its own number
        self.sent = self.answered = 0  # by a count of all that is sent and answered

    def __repr__(self):
        return f"{self.kind} {self.ids or ''} {self.what} by {self.source} at {self.number or f'a place after {self.after}'}"

    def touches(self, id):
        if id == MODEL:
            return self.kind in ("train", "settings", "delete", "import")
        return self.kind != "settings" and (self.ids is None or id in self.ids)

    def agrees(self, id, chain):
        """Whether what its receipt says can be said of this document as it was before."""
        if not self.is_certain or self.kind == "settings" or id == MODEL or self.ids is None:
            return True
        return (self.kind == "train" or chain is not None) and self.said in (None, status_of(self, chain))

    # -- what becomes of one document: its chain before, its chain after (None: it is not there)
    def changed(self, id, chain):
        if id == MODEL:
            return self.changed_model(chain)
        if not self.touches(id):
            return chain
        if self.kind == "import":
            return self.what["chains"].get(id)
        return getattr(self, "_" + self.kind)(chain)

    def changed_model(self, chain):
        if self.kind == "delete":
            return None
        if self.kind == "settings":
            return (Row("", None, self.what["smoothing"]),)
        if self.kind == "import":
            return self.what["default"]
        return self.what["default"] if self.kind == "train" and chain is None else chain

    def _taught(self, chain, label, text, reviews=False):
        reviews = reviews and label is not None
        if chain and chain[-1][1:3] == (label, text) and (chain[-1].reviewed or not reviews):
            return chain
        return (chain or ()) + (Row(self.source, label, text, reviews),)

    def _train(self, chain):
        return self._taught(chain, self.what["label"], self.what["text"])

    def _label(self, chain):
        return self._taught(chain, self.what["label"], chain[-1].text, reviews=True) if chain else chain

    def _untrain(self, _):
        return None

    _delete = _untrain

    @staticmethod
    def _settings(chain):
        return chain

    def results(self, id, chain):
        """What may become of one document: more than one thing only where an undo does not see its source in force. If it saw it so
        when it looked, it has a note in the ledger, and a later undo does not bring the source's rows back either."""
        outcome = self.changed(id, chain)
        yield outcome
        if self.kind == "undo" and outcome and self.touches(id) and outcome is chain:
            noted = self._without(chain)
            if noted != chain:
                yield noted

    def _without(self, chain):
        return tuple(row for row in chain if row.source != self.what["of"]) or None

    def _undo(self, chain):
        return self._without(chain) if chain and chain[-1].source == self.what["of"] else chain

    def _rename(self, chain):
        old, new = self.what["old"], self.what["new"]
        return chain and tuple(row._replace(label=new) if row.label == old else row for row in chain)

    def _merge(self, chain):
        is_old = chain and chain[-1].label == self.what["old"]
        return self._taught(chain, self.what["new"], chain[-1].text) if is_old else chain

    def _delete_label(self, chain):
        return None if chain and chain[-1].label == self.what["label"] else chain


def status_of(event, chain):
    """What a receipt must say of it."""
    if event.kind == "untrain":
        return "forgotten" if chain else None
    label, text = event.what["label"], event.what.get("text", chain and chain[-1].text)
    if chain is None:
        return "stored" if label is None else "learned"
    if chain[-1].label is None and label is not None:
        return "learned"
    if chain[-1].label != label:
        return "relabelled"
    return "unchanged" if chain[-1].text == text else "updated"


class Account:
    """Threads may note at once. `has_numbers`: receipts have them; otherwise one client's order is that of its replies.
    `besides`: models of which it keeps no account. `sweeps_see_all`: a sweep meets all documents that were acknowledged before
    it was asked for; otherwise those alone that its node had applied then. `is_one_order`: numbers are of one stream; otherwise those of a model."""

    def __init__(self, has_numbers=True, besides=(), sweeps_see_all=True, is_one_order=True):
        self.lock, self.has_numbers, self.besides = threading.Lock(), has_numbers, besides
        self.sweeps_see_all = sweeps_see_all
        self.models = {}      # {name: {id: chain}}, as settled last; of a model that is not there: nothing
        self.sure, self.floating = {}, {}  # {name: [Event]}
        self.is_one_order, self.highest = is_one_order, {}
        self.count, self.clock = itertools.count(1), itertools.count(1)
        self.requests = {}    # {number: request}: a number is for one request alone
        self.acknowledged = 0
        self.closed = set()   # (model, id) and models of which something is in doubt
        self.faults = []

    def order_of(self, event):
        """What the numbers of events can be compared in."""
        return "" if self.is_one_order else event.model

    # -- notes of clients
    def sent(self, *events):
        """Before it is sent: it comes after all that was acknowledged until now."""
        with self.lock:
            for event in events:
                event.after, event.sent = self.highest.get(self.order_of(event), 0), next(self.clock)
        return events

    def is_open(self, model, ids=(None,)):
        """Whether nothing is in doubt there: what is in doubt in one place alone leaves few possibilities."""
        with self.lock:
            return model not in self.closed and not any((model, id) in self.closed for id in ids)

    def known(self, event, number, said=None):
        """It was acknowledged. `said`: the status of its receipt."""
        with self.lock:
            event.said, event.answered = said, next(self.clock)
            event.is_certain = self.sweeps_see_all or event.kind not in SWEEPS
            event.number = number if self.has_numbers else next(self.count)
            self.acknowledged += 1
            if event.number is not None:
                self._has_number(event)
            into = self.floating if event.number is None or event.kind in SWEEPS else self.sure
            into.setdefault(event.model, []).append(event)

    def _has_number(self, event):
        if event.number <= event.after:
            self.faults.append(f"{event}: {event.after} was acknowledged before it was sent")
        if self.requests.setdefault(event.number, event.source) != event.source:
            self.faults.append(f"{event}: its number is that of {self.requests[event.number]}")
        order = self.order_of(event)
        self.highest[order] = max(self.highest.get(order, 0), event.number)

    def doubted(self, *events):
        with self.lock:
            for event in events:
                self.floating.setdefault(event.model, []).append(event)
                self.closed.update([event.model] if event.ids is None else ((event.model, id) for id in event.ids))

    # -- judgement: when no request is under way, and the node has all
    def settle(self, client):
        """Compares with what a node has, and takes over what floated."""
        equal(self.faults, [], "numbers")
        self.bound()
        there = self.models_there(client)
        names = set(there) | set(self.models) | set(self.sure) | set(self.floating)
        for name in sorted(names):
            found = self.explained(name, seen_of(client, name) if name in there else {})
            self.models.pop(name, None)
            if found:
                self.models[name] = found
        self.sure, self.floating, self.closed = {}, {}, set()

    def bound(self):
        """What is certain was made before everything that was sent after its reply."""
        sent = {}
        for event in itertools.chain.from_iterable(self.sure.values()):
            sent.setdefault(self.order_of(event), []).append((event.sent, event.number))
        for later in sent.values():
            later.sort()
        lowest_of = {order: list(itertools.accumulate((number for _, number in reversed(later)), min))[::-1]
                     for order, later in sent.items()}
        for events in self.floating.values():
            for event in events:
                later, lowest = sent.get(self.order_of(event), ()), lowest_of.get(self.order_of(event), ())
                if event.answered:
                    at = bisect.bisect_right(later, (event.answered, NEVER))
                    event.ended = lowest[at] if at < len(lowest) else NEVER
                    event.before = min(event.ended, NEVER if event.number is None else event.number + 1)

    def explained(self, name, seen):
        """The chains of a model's documents, by the places of what floats that give what is seen."""
        base, sure = self.models.get(name, {}), sorted(self.sure.get(name, ()), key=lambda event: event.number)
        floating, faults = self.floating.get(name, ()), []
        whole = [event for event in floating if event.kind in ("delete", "rename", "import") and not event.is_certain]
        for order in orders(sure, whole):
            found, fault = chains(base, order, [event for event in floating if event not in whole], seen)
            if fault is None:
                return found
            faults.append(fault)
        id, text = faults[0]
        about = [event for event in (*sure, *floating) if event.touches(id)]
        raise AssertionError(f"model {name}, {id or 'settings'}: {text}" + (
            f" (and so in {len(faults)} orders)" if len(faults) > 1 else "") + f"\nit was {base.get(id)}; then\n  "
                             + "\n  ".join(map(repr, about[-40:])))

    def models_there(self, client):
        return {name: row for name, row in models_of(client).items() if name not in self.besides and not name.startswith(COPIES)}

    def untaught(self):
        """The names of models of which no document has a label: they have learned nothing, and give no verdicts."""
        return {name for name, documents in self.models.items()
                if all(chain[-1].label is None for id, chain in documents.items() if id != MODEL)}

    def check(self, client, rng=None):
        """All counts of all models, anew from the texts."""
        there = self.models_there(client)
        equal(sorted(there), sorted(self.models), "the models")
        for name, documents in self.models.items():
            state = {id: chain[-1][1:3] for id, chain in documents.items() if id != MODEL}
            try:
                Acknowledged().check_model(client, name, state, there[name], rng, 20)
            except AssertionError as error:
                raise AssertionError(f"model {name}: {error}") from error


def orders(sure, whole):
    """The sure events, with what is in doubt and touches all of the model at once at every place that it may have."""
    numbers = [event.number for event in sure]
    choices = [[*range(bisect.bisect_right(numbers, event.after), len(sure) + 1), None] for event in whole]
    for number, places in enumerate(itertools.product(*choices)):
        holds(number < MOST_PLACES, "too much is in doubt")
        placed = [((place, 1), event) for place, event in zip(places, whole) if place is not None]
        yield [event for _, event in sorted([((at + 1, 0), event) for at, event in enumerate(sure)] + placed,
                                            key=lambda pair: pair[0])]


def chains(base, order, floating, seen):
    """({id: chain}, None) if what is seen can be so, or (None, (id, why not))."""
    found, ids = {}, {MODEL, *base, *seen}
    for event in (*order, *floating):
        ids.update(event.ids or event.what.get("chains", ()))
    for id in sorted(ids):
        possible, fault = outcomes(id, base.get(id), order, [event for event in floating if event.touches(id)])
        fitting = [chain for chain in possible if summary(chain) == seen.get(id)]
        if not fitting:
            return None, (id, fault or f"{seen.get(id)} is there, must be {' or '.join(str(summary(c)) for c in possible)}")
        if fitting[0] is not None:
            found[id] = fitting[0]
    return found, None


def outcomes(id, chain, order, floating):
    """The chains that a document may have in the end: what floats is applied somewhere, or, if in doubt, nowhere. With them
    the receipt that cannot be, or None."""
    states = {(chain, frozenset(range(len(floating))))}
    needed = {i for i, one in enumerate(floating) if one.is_certain and not misses(id, one, order, floating)}
    previous = 0
    for event in order:
        states = with_floating(id, states, floating, needed, previous, event)
        previous = event.number or previous
        fitting = {(chain, left) for chain, left in states if event.agrees(id, chain)} if event.touches(id) else states
        if not fitting:
            return [], f"{event} says {event.said!r}, before it was {' or '.join(str(summary(c)) for c, _ in states)}"
        states = {(event.changed(id, chain), left) for chain, left in fitting}
    states = with_floating(id, states, floating, needed, previous, None)
    return list(dict.fromkeys(chain for chain, left in states if not left & needed)), None


def misses(id, sweep, order, floating):
    """Whether a sweep may have left out a document: it looks which ones it is for, and does not touch one that is changed
    between that look and its turn. Its number is that of the last thing that it did: what it left out may come later."""
    def is_meanwhile(event):
        if event is sweep or not event.touches(id):
            return False
        if event.number is None or event.kind in SWEEPS:
            return event.after < sweep.ended and sweep.after < event.ended
        return sweep.after < event.number < sweep.ended
    return sweep.kind in SWEEPS and any(map(is_meanwhile, (*order, *floating)))


def with_floating(id, states, floating, needed, previous, following):
    """Between the number `previous` and the event `following`: of each state what comes of it when some of what floats is applied here."""
    number = NEVER if following is None else following.number  # None: in doubt itself, and of no number
    found, todo = set(states), list(states)
    while todo:
        chain, left = todo.pop()
        for i in left:
            one = floating[i]
            if number is not None and number <= one.after or previous >= one.before or not one.agrees(id, chain):
                continue
            for outcome in one.results(id, chain):
                state = (outcome, left - {i})
                # What is in doubt and changes nothing here may as well come later, or never.
                if state not in found and (one.is_certain or outcome != chain):
                    found.add(state)
                    todo.append(state)
    if number is None:
        return found
    over = frozenset(i for i, one in enumerate(floating) if one.before <= number)
    return {(chain, left - over) for chain, left in found if not left & over & needed}


def summary(chain):
    """What a node shows of a document, or of a model's settings."""
    return None if chain is None else (chain[-1].source, chain[-1].label, size_of(chain[-1].text))


def size_of(text):
    return len(text.split()) if isinstance(text, str) else text


def seen_of(client, name):
    """{id: summary} of all documents of a model by its export, and of its settings."""
    found, labels = {MODEL: ("", None, client.get(path_of(name)).ok().json["settings"]["smoothing"])}, None
    for line in exported(client, name).splitlines():
        if labels is not None and line.startswith(b'{"words"'):
            continue
        record = json.loads(line)
        labels = record["labels"] if labels is None else labels
        if "document" in record:
            document = record["document"]
            holds(document["id"] not in found, f"{document['id']} is twice in the export of {name}")
            label = document["label"]
            found[document["id"]] = (document.get("source", ""), None if label is None else labels[label],
                                     document["tokens"])
    return found


def patiently(ask):
    """The reply to a change. While a database has just started nobody takes it, so that it may be sent again."""
    for _ in range(50):
        reply = ask()
        if reply.status != 503:
            break
        time.sleep(0.2)
    return reply


def default_chain(client):
    """Of a model that is made by its first document."""
    path = path_of("to-be-deleted")
    patiently(lambda: client.post(path + "/train", {"id": "a", "label": "a", "text": "a"})).ok()
    smoothing = client.get(path).ok().json["settings"]["smoothing"]
    patiently(lambda: client.delete(path)).ok(204)
    return (Row("", None, smoothing),)
