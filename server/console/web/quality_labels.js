// SPDX-License-Identifier: Apache-2.0
// The quality of a model whose documents have several labels: the means, and each label by itself.

import {h, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";

const ROWS = 100;

// What GET evaluation says of such a model. Of very many labels those with the lowest F1.
export function severalLabels(report) {
  const all = Object.entries(report.labels), isCut = all.length > ROWS;
  const rows = isCut ? all.sort((a, b) => (a[1].f1 ?? 0) - (b[1].f1 ?? 0)).slice(0, ROWS) : all;
  return [h("section", {class: "panel"}, table(`Means, of ${plural(report.documents, "document")}`, [{name: "Figure"}, {name: "Value", number: true}],
    [["Micro-F1", number(report.micro_f1)], ["Macro-F1", number(report.macro_f1)], ["Mean average precision", number(report.mean_average_precision)],
      ["Documents given exactly their labels", percent(report.exact)], ["Log-loss", number(report.log_loss)]]),
  h("p", {class: "hint"}, "Each document as the model without it would judge it.")),
  h("section", {class: "panel"}, table(isCut ? `The ${ROWS} labels of ${count(all.length)} with the lowest F1` : "Each label", [{name: "Label"},
    ...["Documents", "Given", "Precision", "Recall", "F1", "Average precision", "Threshold"].map((name) => ({name, number: true}))],
  rows.map(([label, one]) => [label, count(one.documents), count(one.given), percent(one.precision), percent(one.recall), number(one.f1), number(one.average_precision), percent(one.threshold)])))];
}
