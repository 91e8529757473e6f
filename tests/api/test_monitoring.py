# SPDX-License-Identifier: Apache-2.0
"""config/monitoring: every metric and label value that the dashboard and the alerts name is one of the daemon's."""
import json
import os
import re

from book import Model
from harness import equal, holds
from prometheus import parse
from receiver import Receiver, daemon

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Prometheus' own, of every job.
FOREIGN = {"up"}
# Of several nodes alone: tests/monitoring looks at these, of a node that has all of them.
OF_NODES = "bayesd_nodes_"
SELECTOR = re.compile(r"([a-z_:][a-zA-Z0-9_:]*)\{([^{}]*(?:\{model\}[^{}]*)*)\}|\b((?:bayesd|process)_[a-z_]+)")
MATCHER = re.compile(r'(\w+)=(~?)"([^"]*)"')


def read(*names):
    with open(os.path.join(TOP, "config", "monitoring", *names), encoding="utf-8") as file:
        return file.read()


def expressions():
    """[(where, PromQL)] of both files."""
    panels = json.loads(read("dashboard.json"))["panels"]
    found = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    rules = read("alerts.yml")
    # One rule after another: what stands between "expr:" and the next key.
    for name, text in re.findall(r"- alert: (\w+)\n +expr:(.*?)\n +(?:for|labels):", rules, re.DOTALL):
        found.append((name, " ".join(text.replace(">-", "").split())))
    equal(len([1 for where, _ in found if where.startswith("Bayesd")]), rules.count("- alert:"), "alerts found")
    return found


def names(expression):
    """[(metric, matchers)]; matchers of Grafana's variables are left out."""
    for name, matchers, bare in SELECTOR.findall(expression):
        yield name or bare, [(label, bool(tilde), value) for label, tilde, value in MATCHER.findall(matchers)
                             if not value.startswith("$") and label not in ("job", "status")]


def matches(samples, metric, label, is_pattern, value):
    """Whether each alternative of the value is one of the metric's, so that a renamed one is seen."""
    values = {pairs[label] for (name, labels) in samples for pairs in [dict(labels)] if name == metric and label in pairs}
    # Prometheus' patterns are anchored; braces of a route are themselves, since no number stands in them.
    wanted = value.split("|") if is_pattern else [value]
    return [one for one in wanted if one not in values]


def test_names_are_those_of_the_daemon(api):
    with Receiver() as receiver, Model(api := api.at(daemon(api, receiver))) as model:
        model.filled()
        model_path = model.path
        api.put(model_path, {"preset": "book", "ready_documents": 1}).ok()  # verdicts that are ready, enough for a drift
        api.post(model_path + "/classify", b'{"text": "words"}\n' * 2000, "application/x-ndjson").ok()
        for path, kind in ((f"{model_path}/classify", "text/plain"), ("/checkv2", "message/rfc822")):
            api.post(path, "Subject: a\n\nwords", kind).ok()
        api.post("/v1/classify", json.dumps({"models": [model_path.rsplit("/", 1)[1]], "text": "words"}),
                 "application/json").ok()
        metrics = parse(api.get("/metrics").ok().body.decode())
    samples = [key for family in metrics.families.values() for key in family.samples]
    seen = 0
    for where, expression in expressions():
        for metric, matchers in names(expression):
            seen += 1
            if metric.startswith(OF_NODES):
                continue
            holds(metric in FOREIGN or any(name == metric for name, _ in samples), f"{where}: there is no {metric}")
            for label, is_pattern, value in matchers:
                missing = matches(samples, metric, label, is_pattern, value)
                holds(not missing, f"{where}: {metric} has no {label} {missing}")
    holds(seen > 40, f"only {seen} names were found")


def test_the_page_explains_each_alert(_api):
    equal(sorted(re.findall(r"- alert: (\w+)", read("alerts.yml"))),
          sorted(re.findall(r"(?m)^\| `(Bayesd\w+)`", read("README.md"))))
