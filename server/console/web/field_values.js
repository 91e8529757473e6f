// SPDX-License-Identifier: Apache-2.0
// Values of a model's fields: from the cell of a table, or from inputs.

import {field, h} from "./dom.js";

// A comma may be the point of a number, "12,5"; before three digits it may part thousands, unless semicolons separate the
// cells: then the table is of a country that writes them so. NaN: it is no number, or nobody knows which.
function numberOf(text, separator) {
  if (!/^[-+]?\d*,\d+$/.test(text)) return Number(text);
  return separator !== ";" && /^[-+]?[1-9]\d{0,2},\d{3}$/.test(text) ? NaN : Number(text.replace(",", "."));
}

export const NOT_A_NUMBER = "a value that should be a number is none, or may be two: write 1,234 without the comma";

// The value of a text, for a field of this kind. `separator`: of the table's cells, if it is of one.
export function valueOf(text, kind, separator) {
  if (kind === "number") return numberOf(text, separator);
  return kind === "set" ? text.split(/[,;]/).map((one) => one.trim()).filter(Boolean) : text;
}

const HINTS = {category: "one of some values", set: "values, separated by commas", number: "a number", text: "words"};

// Inputs for the fields {name: kind} of a model: {node, read}. read() gives {name: value} of those that are filled, or
// null if none is; it throws if one should be a number and is none.
export function fieldInputs(fields) {
  const inputs = Object.entries(fields).map(([name, kind]) => ({name, kind, input: h("input", {autocomplete: "off", spellcheck: "false"})}));
  const read = () => {
    const values = {};
    for (const {name, kind, input} of inputs) if (input.value.trim() !== "") values[name] = valueOf(input.value.trim(), kind);
    if (Object.values(values).some((value) => Number.isNaN(value))) throw new Error(NOT_A_NUMBER);
    return Object.keys(values).length > 0 ? values : null;
  };
  return {read, node: inputs.length === 0 ? null : h("div", {class: "row"}, inputs.map(({name, kind, input}) => field(name, input, HINTS[kind])))};
}
