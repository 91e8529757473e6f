# SPDX-License-Identifier: Apache-2.0
"""One bayesd without a [nodes]: the account of the history agrees with it, through kills, and finds what is wrong."""
import itertools
import json
import threading
import time

from account import MODEL, Account, Event, Row, default_chain
from clients import Client, Load, dumped
from harness import equal, holds


def one_node(nodes):
    site = nodes.site(nodes=1, shared=False).start()
    return site, site.nodes[0]


def test_one_client_of_one_node(nodes):
    site, node = one_node(nodes)
    account, default = Account(has_numbers=False, besides=("dumped",)), default_chain(node.client)
    dump = dumped(node.client, "dumped")
    for turn in range(4):
        load = Load(site, account, nodes.random, default, clients=1, requests=300, first=turn, dump=dump).start().join()
        load.check_networks(node.client)
        account.settle(node.client)
        account.check(node.client, nodes.random)
    holds(account.acknowledged > 600, f"{account.acknowledged} of 1,200 were acknowledged")


class Numbered(Client):
    """One node takes requests one after the other and says the number of each, as a cluster would: by a change of
    documents, and by nothing else. Requests and replies are under way for a while."""
    lock, count = threading.Lock(), itertools.count(1)

    def request(self, client, method, path, body, kind):
        time.sleep(self.rng.random() / 100)
        with self.lock:
            reply = super().request(client, method, path, body, kind)
            found = reply.json if reply.status == 200 and method == "POST" and "/undo" not in path else {}
            for result in found.get("results", [found] if found else []):
                result["number"] = next(self.count)
            next(self.count)
        reply.body = json.dumps(found).encode() if found else b""
        time.sleep(self.rng.random() / 100)
        return reply


def test_many_clients_whose_receipts_have_numbers(nodes):
    site, node = one_node(nodes)
    account, default = Account(), default_chain(node.client)
    for turn in range(2):
        Load(site, account, nodes.random, default, clients=8, requests=80, first=10 * turn, kind=Numbered).start().join()
        account.settle(node.client)
        account.check(node.client, nodes.random)


def test_kills_leave_doubts_that_are_settled(nodes):
    site, node = one_node(nodes)
    account, default = Account(has_numbers=False, besides=("dumped",)), default_chain(node.client)
    dump = dumped(node.client, "dumped")
    for turn in range(5):
        client = Client(site, account, nodes.random, turn, default, 10**6, dump=dump)
        client.start()
        time.sleep(0.2 + nodes.random.random() / 5)
        client.stopping.set() if turn == 4 else node.kill()
        client.stopping.set()
        client.join(60)
        holds(client.fault is None, client.fault)
        site.heal()
        account.settle(node.client)
        account.check(node.client, nodes.random)


def test_what_is_wrong_is_found(nodes):
    """A change that the account does not know of; one that is not there; one that was made twice."""
    _, node = one_node(nodes)
    default, path = default_chain(node.client), "/v1/models/m"

    def account_of(*events):
        account = Account()
        for number, event in enumerate(events, 1):
            account.known(*account.sent(event), number)
        return account

    def train(label, source):
        node.client.post(path + "/train", {"id": "d", "label": label, "text": "a b c", "source": source}).ok()
        return Event("m", "train", source, ("d",), label=label, text="a b c", default=default)

    def is_refused(account):
        try:
            account.settle(node.client)
        except AssertionError:
            return True
        return False

    first, second = train("ham", "one"), train("spam", "two")
    account_of(first, second).settle(node.client)
    holds(is_refused(account_of(second, first)), "another order")
    holds(is_refused(account_of(first)), "a change that nobody asked for")
    holds(is_refused(account_of(first, second, Event("m", "untrain", "three", ("d",)))), "a change that is not there")
    train("ham", "one")  # again, later
    holds(is_refused(account_of(first, second)), "a change that was made twice")
    account = account_of(first, second)
    account.doubted(*account.sent(Event("m", "train", "one", ("d",), label="ham", text="a b c", default=default)))
    account.settle(node.client)
    equal(account.models["m"]["d"][-1], Row("one", "ham", "a b c"))


def test_a_document_that_an_undo_left_out(nodes):
    """It was taught again while the undo was under way, behind the last number of the undo. What was asked for after the
    reply to the undo is no reason to leave it out."""
    _, node = one_node(nodes)
    default, path = default_chain(node.client), "/v1/models/m"
    for source, label in (("one", "spam"), ("two", "ham")):
        node.client.post(path + "/train", {"id": "d", "label": label, "text": "a b c", "source": source}).ok()
    for is_meanwhile in (True, False):
        one, two = (Event("m", "train", source, ("d",), label=label, text="a b c", default=default)
                    for source, label in (("one", "spam"), ("two", "ham")))
        undo, account = Event("m", "undo", "three", of="one"), Account()
        account.known(*account.sent(one), 1, "learned")
        account.sent(undo)
        if is_meanwhile:
            account.sent(two)
        account.known(undo, 2)
        if not is_meanwhile:
            account.sent(two)
        account.known(two, 3, "relabelled")
        try:
            account.settle(node.client)
            found = True
        except AssertionError:
            found = False
        equal(found, is_meanwhile, f"left out, taught {'meanwhile' if is_meanwhile else 'afterwards'}")


def test_an_undo_that_was_noted(nodes):
    """It took back one document of its source, or none, and another one had been taught anew: when that is undone, too, nothing is
    left. What was asked to be taken back does not come back."""
    for ids in (("d",), ("d", "e")):
        _, node = one_node(nodes)
        default, path = default_chain(node.client), "/v1/models/m"
        account = Account(has_numbers=False)

        def taught(source, label, *which):
            events = [Event("m", "train", source, (id,), label=label, text="a b c", default=default) for id in which]
            account.sent(*events)
            documents = [{"id": id, "label": label, "text": "a b c"} for id in which]
            reply = node.client.post(f"{path}/train?source={source}", {"documents": documents}).ok().json
            for event, result in zip(events, reply["results"]):
                account.known(event, None, result["status"])

        def undone(source):
            event = Event("m", "undo", "by", of=source)
            account.sent(event)
            node.client.post(path + "/undo", {"source": source}).ok()
            account.known(event, None)

        taught("one", "spam", *ids)
        taught("two", "ham", "d")
        undone("one")
        taught("three", "spam", "between")  # so the order of the two is known
        undone("two")
        account.settle(node.client)
        equal(set(account.models.get("m", {})) - {MODEL}, {"between"}, f"what is left of {ids}")


def test_numbers_that_cannot_be(nodes):
    """A number that comes twice, and one that is below what was acknowledged before it was asked for."""
    _, node = one_node(nodes)
    for numbers in ((5, 5), (5, 4)):
        account = Account()
        for source, number in zip("ab", numbers):
            account.known(*account.sent(Event("m", "delete", source)), number)
        try:
            account.settle(node.client)
            raise RuntimeError(f"{numbers} were taken")
        except AssertionError:
            pass
