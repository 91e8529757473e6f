# SPDX-License-Identifier: Apache-2.0
"""Reads and writes Weka's data sets (ARFF), as far as they are tables of nominal and numeric attributes."""
import re

# A word, or quoted text; a backslash keeps the next character.
ITEM = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,{}'"%]+))\s*""")
MISSING = "?"
# Characters of a field's name in a model's settings.
MOST_NAME = 32


def item_at(text, at):
    """(the item at this place, where it ends); None stands for an unquoted question mark."""
    found = ITEM.match(text, at)
    if not found:
        raise ValueError(f"no value at column {at}: {text!r}")
    if found[3] is not None:
        return (None if found[3] == MISSING else found[3]), found.end()
    return re.sub(r"\\(.)", r"\1", found[1] if found[1] is not None else found[2]), found.end()


def items(text):
    """The items of a line that commas separate."""
    got, at = [], 0
    while True:
        item, at = item_at(text, at)
        got.append(item)
        if at >= len(text) or text[at] != ",":
            return got
        at += 1


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Data:
    """`attributes` is [(name, declared values, or None of numbers)], `rows` [[text or None]]; one is the class."""

    def __init__(self, attributes, rows, name="data"):
        self.attributes, self.rows, self.name = attributes, rows, name
        self.class_index = len(attributes) - 1

    def __repr__(self):
        return f"{self.name} ({len(self.rows)} rows)"

    def labels(self):
        """The declared values of the class."""
        return self.attributes[self.class_index][1]

    def inputs(self):
        """The indices of the attributes beside the class."""
        return [n for n in range(len(self.attributes)) if n != self.class_index]

    def fields(self):
        """{name: kind} as a model's settings have it."""
        return {self.attributes[n][0]: "number" if self.attributes[n][1] is None else "category"
                for n in self.inputs()}

    def value(self, row, n):
        """A value as documents have it: a text, a number, or None."""
        text = row[n]
        return float(text) if text is not None and self.attributes[n][1] is None else text

    def documents(self):
        """[({name: value}, label)]; missing values are left out."""
        return [({self.attributes[n][0]: self.value(row, n) for n in self.inputs() if row[n] is not None},
                 row[self.class_index]) for row in self.rows]

    def declared_only(self):
        """[(name, value)]: what is declared and in no row."""
        return [(self.attributes[n][0], value) for n in self.inputs() for value in self.attributes[n][1] or ()
                if all(row[n] != value for row in self.rows)]

    def of_rows(self, rows):
        data = Data(self.attributes, rows, self.name)
        data.class_index = self.class_index
        return data

    def without(self, names):
        """Without some attributes; the class comes last."""
        kept = [n for n in self.inputs() if self.attributes[n][0] not in names] + [self.class_index]
        return Data([self.attributes[n] for n in kept], [[row[n] for n in kept] for row in self.rows], self.name)

    def complete(self):
        """Without the rows that have a missing value."""
        return self.of_rows([row for row in self.rows if None not in row])

    def text(self):
        """As ARFF."""
        lines = ["@relation peers"]
        for name, values in self.attributes:
            kind = "numeric" if values is None else "{" + ",".join(map(quoted, values)) + "}"
            lines.append(f"@attribute {quoted(name)} {kind}")
        lines.append("@data")
        for row in self.rows:
            lines.append(",".join(MISSING if v is None else v if values is None else quoted(v)
                                  for v, (_, values) in zip(row, self.attributes)))
        return "\n".join(lines) + "\n"


def read(path, name):
    """Reads a file. The last attribute is the class, unless one is named so. Names end where those of fields have to."""
    attributes, rows, is_data = [], [], False
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in map(str.strip, file):
            if not line or line.startswith("%"):
                continue
            if is_data:
                rows.append(items(line))
            elif line.lower().startswith("@attribute"):
                attribute, at = item_at(line, len("@attribute"))
                kind = line[at:].strip()
                attributes.append((attribute[:MOST_NAME], items(kind[1:kind.rindex("}")]) if kind.startswith("{") else None))
            elif line.lower().startswith("@data"):
                is_data = True
    if len({attribute for attribute, _ in attributes}) < len(attributes):
        raise ValueError(f"{path}: attributes of the same name")
    for row in rows:
        if len(row) != len(attributes):
            raise ValueError(f"{path}: a row of {len(row)} values, not {len(attributes)}: {row}")
    data = Data(attributes, rows, name)
    named = [n for n, (attribute, _) in enumerate(attributes) if attribute.lower() == "class"]
    if named:
        data.class_index = named[0]
    return data
