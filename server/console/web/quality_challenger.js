// SPDX-License-Identifier: Apache-2.0
// The challenger of a model: how both judge the same documents.

import {h, table} from "./dom.js";
import {count, number, percent, plural} from "./format.js";
import {bothCurves} from "./quality_charts.js";

const CHANCE = 0.05; // below it a difference is called one

const STATES = {"catching-up": "It still learns what the model has.", following: "It has learned all that the model has.", stopped: "It does not go on:"};

function verdict(one) {
  if (one.documents === 0) return "Both have scored no document yet.";
  const better = one.log_loss_difference < 0 ? "the challenger's probabilities are better" : "the model's probabilities are better";
  return one.log_loss_p !== null && one.log_loss_p < CHANCE ? `Of ${plural(one.documents, "document")}, ${better}; that is hardly chance (p ${number(one.log_loss_p)}).`
    : `Of ${plural(one.documents, "document")}, the difference may be chance (p ${number(one.log_loss_p)}).`;
}

function figures(one) {
  const rows = [["Accuracy", percent(one.champion.accuracy), percent(one.challenger.accuracy), number(one.mcnemar_p)],
    ["Log-loss", number(one.champion.log_loss), number(one.challenger.log_loss), number(one.log_loss_p)],
    ["Right where the other is wrong", count(one.only_champion_right), count(one.only_challenger_right), ""]];
  return table(`The same ${plural(one.documents, "document")}`, [{name: "Figure"}, {name: "Model", number: true}, {name: "Challenger", number: true}, {name: "p", number: true}], rows);
}

// `found`: what the evaluation says of it; `chosen`: the number of the window.
export function challenger(name, found, chosen) {
  const one = found.windows[chosen];
  return h("section", {class: "panel"}, h("h2", null, "Challenger"),
    h("p", null, STATES[found.state], found.reason ? ` ${found.reason}` : "", " ", h("strong", null, verdict(one))),
    one.documents > 0 ? figures(one) : null, found.progress.length > 0 ? bothCurves(name, found.progress) : null);
}
