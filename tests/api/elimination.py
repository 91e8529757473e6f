# SPDX-License-Identifier: Apache-2.0
"""P(node | evidence) of a Bayes net by bucket elimination, slowly: what the daemon's answers are held against.

Factors are dictionaries; nodes are summed out in an order of their own, the one with the fewest neighbours first
(the daemon takes the smallest product), and nothing is left out because the question does not depend on it.
"""
import itertools
import math


def factors_of(network):
    """[(nodes, {states: probability})], one for each node's table."""
    states = {node["name"]: node["states"] for node in network["nodes"]}
    for node in network["nodes"]:
        parents = node.get("parents", [])
        table = {}
        for row, given in zip(node["table"], itertools.product(*(states[p] for p in parents))):
            for state, p in zip(node["states"], row):
                table[(*given, state)] = p
        yield (*parents, node["name"]), table


def without(factor, evidence):
    """The factor with the known nodes taken out."""
    nodes, table = factor
    keep = [i for i, name in enumerate(nodes) if name not in evidence]
    return tuple(nodes[i] for i in keep), {
        tuple(key[i] for i in keep): p for key, p in table.items()
        if all(key[i] == evidence[name] for i, name in enumerate(nodes) if name in evidence)}


def product(factors, states):
    nodes = tuple(sorted({name for of, _ in factors for name in of}))
    places = [[nodes.index(name) for name in of] for of, _ in factors]
    table = {key: math.prod(t[tuple(key[i] for i in at)] for (_, t), at in zip(factors, places))
             for key in itertools.product(*(states[name] for name in nodes))}
    return nodes, table


def sum_out(factor, name):
    nodes, table = factor
    at, sums = nodes.index(name), {}
    for key, p in table.items():
        rest = key[:at] + key[at + 1:]
        sums.setdefault(rest, []).append(p)
    return nodes[:at] + nodes[at + 1:], {key: math.fsum(terms) for key, terms in sums.items()}


def joint(network, node, evidence):
    """{state: P(node = state and evidence)}."""
    states = {n["name"]: n["states"] for n in network["nodes"]}
    factors = [without(factor, evidence) for factor in factors_of(network)]
    left = set(states) - set(evidence) - {node}
    while left:
        def neighbours(name):
            return len({other for of, _ in factors if name in of for other in of})
        name = min(sorted(left), key=neighbours)
        left.remove(name)
        with_it = [factor for factor in factors if name in factor[0]]
        factors = [factor for factor in factors if name not in factor[0]]
        factors.append(sum_out(product(with_it, states), name))
    _, table = product(factors, states)
    return {state: table[(state,)] for state in states[node]}
