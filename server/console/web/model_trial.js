// SPDX-License-Identifier: Apache-2.0
// What other settings would do, tried on a copy of the model by the public API alone: two copies are made from an
// export, one with the settings as they are and one with the new ones; both are evaluated by what each document would
// get from the model without it, and deleted. The model itself is not touched. Only a model by the book with a parent has
// no such verdicts; the daemon says so.

import {get, json, model as of, send} from "./api.js";
import {failure, h, put, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";
import {question} from "./model_labels.js";
import {hasSeveral} from "./models.js";

const ASKED_FROM = 5000; // documents from which on it is said before it begins how long it takes
const FIGURES = [["Accuracy", "accuracy", percent, 1], ["Log-loss", "log_loss", number, -1], ["Brier score", "brier", number, -1],
  ["Calibration error", "ece", number, -1], ["1 - AUC (%)", "one_minus_roca_percent", number, -1]];
const FIGURES_OF_SEVERAL = [["Micro-F1", "micro_f1", number, 1], ["Macro-F1", "macro_f1", number, 1], ["Mean average precision", "mean_average_precision", number, 1],
  ["Exactly its labels", "exact", percent, 1], ["Log-loss", "log_loss", number, -1]];

async function evaluated(name, dump, settings) {
  await send("PUT", of(name, ["import"]), {body: dump, type: "application/x-ndjson"});
  try {
    await json("PUT", of(name), settings);
    if (settings.decision === "stacked" && !hasSeveral({settings})) await send("POST", of(name, ["refit"]));
    const report = await get(of(name, ["evaluation"], {scores: hasSeveral({settings}) ? undefined : "leave-one-out"}));
    return report.windows?.at(-1) ?? report;
  } finally {
    await json("DELETE", of(name));
  }
}

const verdictOf = (before, after, sign) => (before === null || after === null || before === after ? "same" : sign * (after - before) > 0 ? "better" : "worse");

export async function tryOnCopy(place, info, settings) {
  if (info.documents <= ASKED_FROM) return compare(place, info, settings);
  question(`The model has ${count(info.documents)} documents. Two copies of it pass through this page and are learned, one after the other: of a hundred thousand documents that takes minutes, and as much disk and memory as the model has. bayesc evaluate --variant compares settings on a part of the documents.`,
    "Try it", () => compare(place, info, settings), "main");
}

async function compare(place, info, settings) {
  put(place, h("p", {class: "notice", role: "status"}, "Evaluating on a copy. This can take a minute."));
  try {
    const copy = `${info.name.slice(0, 100)}.trial`;
    const dump = await (await send("GET", of(info.name, ["export"]))).blob();
    const before = await evaluated(copy, dump, info.settings);
    const after = await evaluated(copy, dump, settings);
    const rows = (hasSeveral(info) ? FIGURES_OF_SEVERAL : FIGURES).map(([title, key, format, sign]) => [title, format(before[key]), format(after[key]), verdictOf(before[key], after[key], sign)]);
    put(place, table(`Now and with the change, of ${plural(after.documents, "document")}`, [{name: "Figure"}, {name: "Now", number: true}, {name: "With it", number: true}, {name: "It is"}], rows),
      h("p", {class: "hint"}, "Each document as a model without it would judge it. The copies are deleted; nothing is saved."));
  } catch (error) {
    put(place, failure(error));
  }
}
