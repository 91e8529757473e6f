// SPDX-License-Identifier: Apache-2.0
// Bars in a table: a row has a name, a text and a bar of its length. The numbers stand beside the bars, so the bars
// say nothing to a screen reader.

import {h, s} from "./dom.js";

const WIDTH = 200, HEIGHT = 14;

// From `low` to `high` of the scale [least, most].
export function bar(low, high, least, most, kind = "") {
  const at = (x) => (WIDTH * (x - least)) / (most - least || 1);
  return s("svg", {class: "bar", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"},
    s("rect", {class: "track", x: 0, y: 0, width: WIDTH, height: HEIGHT}),
    s("rect", {class: `fill ${kind}`, x: at(Math.min(low, high)), y: 0, width: Math.max(1, Math.abs(at(high) - at(low))), height: HEIGHT}),
    least < 0 && most > 0 ? s("rect", {class: "zero", x: at(0) - 0.5, y: 0, width: 1, height: HEIGHT}) : null);
}

// Shares of one: [[name, share, text]]. `columns` names what the two stand for.
export function shares(caption, columns, rows) {
  return h("table", {class: "bars"}, h("caption", null, caption),
    h("thead", {class: "hidden"}, h("tr", null, h("th", {scope: "col"}, columns[0]), h("th", {scope: "col"}, columns[1]), h("td"))),
    h("tbody", null, rows.map(([name, share, text]) =>
      h("tr", null, h("th", {scope: "row"}, name), h("td", {class: "number"}, text), h("td", {class: "long"}, bar(0, share, 0, 1))))));
}

// Evidence for and against: [[name, value, text]], around zero.
export function balance(caption, columns, rows) {
  const most = Math.max(1e-9, ...rows.map(([, value]) => Math.abs(value)));
  return h("table", {class: "bars"}, h("caption", null, caption),
    h("thead", {class: "hidden"}, h("tr", null, h("th", {scope: "col"}, columns[0]), h("th", {scope: "col"}, columns[1]), h("td"))),
    h("tbody", null, rows.map(([name, value, text]) =>
      h("tr", null, h("th", {scope: "row"}, name), h("td", {class: "number"}, text),
        h("td", {class: "long"}, bar(0, value, -most, most, value < 0 ? "against" : "for"))))));
}
