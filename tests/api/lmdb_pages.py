# SPDX-License-Identifier: Apache-2.0
"""Where what lies in an LMDB data file: places of keys, values and LMDB's own fields.

Reads the format of LMDB 0.9 on little-endian machines of this one's word, from the newer of its two heads; written
from the format alone, independent of the daemon, which must find what is changed at these places.
"""
import struct

WORD = struct.calcsize("P")  # LMDB's numbers of pages and transactions, and its counts
W = {4: "I", 8: "Q"}[WORD]
PAGE_HEADER, NODE_HEADER = WORD + 8, 8
DATABASES = 8 + 2 * WORD  # in a head, behind magic, version, address and size of the map
BRANCH, LEAF, OVERFLOW = 1, 2, 4
BIG_DATA, SUB_DATA = 1, 2
MAGIC = 0xBEEFC0DE
DATABASE = struct.Struct("<IHH" + 5 * W)  # pad, flags, depth, branch, leaf, overflow pages, entries, root
NOWHERE = (1 << 8 * WORD) - 1


class Place:
    """A range of bytes: `kind` is key, value, structure, free list or head; `table` its name."""

    def __init__(self, kind, table, at, length, key=b""):
        self.kind, self.table, self.at, self.length, self.key = kind, table, at, length, key

    def __repr__(self):
        return f"{self.kind} of {self.table} at {self.at}, {self.length} bytes"


class Pages:
    def __init__(self, content):
        self.content, self.places = content, []
        self.size = struct.unpack_from("<I", content, PAGE_HEADER + DATABASES)[0]
        heads = [self.head(number) for number in (0, 1)]
        newest = max((h for h in heads if h), key=lambda h: h["transaction"])
        self.walk(newest["free"], "free list", self.free_entry)
        self.walk(newest["main"], "main", self.main_entry)

    def head(self, number):
        at = number * self.size + PAGE_HEADER
        if struct.unpack_from("<I", self.content, at)[0] != MAGIC:
            return None
        databases = at + DATABASES
        last, transaction = struct.unpack_from("<" + 2 * W, self.content, databases + 2 * DATABASE.size)
        self.add("head", f"head {number}", number * self.size, PAGE_HEADER + DATABASES + 2 * DATABASE.size + 2 * WORD)
        return {"free": self.root(databases), "main": self.root(databases + DATABASE.size),
                "last": last, "transaction": transaction}

    def root(self, at):
        return DATABASE.unpack_from(self.content, at)[7]

    def add(self, kind, table, at, length, key=b""):
        if length:
            self.places.append(Place(kind, table, at, length, key))

    def walk(self, page, table, entry):
        if page == NOWHERE:
            return
        start = page * self.size
        flags, lower = struct.unpack_from("<HH", self.content, start + WORD + 2)
        pointers = struct.unpack_from("<%dH" % ((lower - PAGE_HEADER) // 2), self.content, start + PAGE_HEADER)
        self.add("structure", table, start, lower)  # the page's header and the pointers to its nodes
        for number, pointer in enumerate(pointers):
            node = start + pointer
            low, high, more, length = struct.unpack_from("<HHHH", self.content, node)
            self.add("structure", table, node, NODE_HEADER)
            if flags & BRANCH:
                if number > 0:  # the key of a page's first branch is never read
                    self.add("structure", table, node + NODE_HEADER, length)
                self.walk(low | high << 16 | (more << 32 if WORD == 8 else 0), table, entry)
            else:
                key = self.content[node + NODE_HEADER:node + NODE_HEADER + length]
                entry(table, node, key, more, low | high << 16)

    def value(self, node, key, flags, length):
        """The place of a value, which may have pages of its own."""
        at = node + NODE_HEADER + len(key)
        if not flags & BIG_DATA:
            return at
        self.add("structure", "overflow", at, WORD)
        page = struct.unpack_from("<" + W, self.content, at)[0] * self.size
        self.add("structure", "overflow", page, PAGE_HEADER)
        return page + PAGE_HEADER

    def free_entry(self, table, node, key, flags, length):
        self.add("free list", table, node + NODE_HEADER, len(key))
        self.add("free list", table, self.value(node, key, flags, length), length)

    def main_entry(self, table, node, key, flags, length):
        at = node + NODE_HEADER + len(key)
        name = key.decode("ascii", "replace")
        self.add("structure", name, node + NODE_HEADER, len(key) + length)
        if flags & SUB_DATA:
            self.walk(self.root(at), name, self.table_entry)

    def table_entry(self, table, node, key, flags, length):
        self.add("key", table, node + NODE_HEADER, len(key), key)
        self.add("value", table, self.value(node, key, flags, length), length, key)


def places_of(path):
    with open(path, "rb") as file:
        return Pages(file.read()).places
