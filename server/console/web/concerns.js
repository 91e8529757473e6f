// SPDX-License-Identifier: Apache-2.0
// What needs a person: {level: "bad" or "warn", text, view, model, rest}. Nothing, if the list is empty.

import {bytes, count, plural} from "./format.js";
import {labelsOf} from "./models.js";
import {total} from "./metrics.js";

const FEW = 10; // documents of a label below which its verdicts are not yet worth much (ready_documents)
const MODELS_MOST = 8;
const DRIFT_FAR = 0.25; // as the alert of config/monitoring
const ROOM_LEAST = 256 << 20; // bytes
const REFUSED_MANY = 100; // this page asks once without a token, too

function ofTheStore({unready, damaged}) {
  if (unready) return [{level: "bad", text: `The daemon is not ready: ${unready}`}];
  return damaged.map((name) => ({level: "bad", text: `The model ${name} is damaged. Run "bayesd --rebuild", or restore a backup.`}));
}

function ofTheMetrics(families) {
  if (!families) return [];
  const found = [];
  const failures = total(families, "bayesd_commit_failures_total");
  const refused = total(families, "bayesd_refused_total", {reason: "unknown_token"});
  const queued = total(families, "bayesd_queued_changes");
  if (failures > 0) found.push({level: "bad", text: `${plural(failures, "write")} to the disk failed since the start. Is it full?`});
  const left = total(families, "bayesd_disk_free_bytes"), store = total(families, "bayesd_store_bytes");
  if (total(families, "bayesd_disk_bytes") > 0 && left < Math.max(ROOM_LEAST, store)) {
    found.push({level: left < ROOM_LEAST / 4 ? "bad" : "warn", text: `${bytes(left)} are left on the disk of the models. When it is full nothing is learned any more; a rebuild takes as much as the models do, ${bytes(store)}.`});
  }
  if (queued > 10000) found.push({level: "warn", text: `${count(queued)} changes wait to be written: the disk is slow.`});
  if (refused > REFUSED_MANY) found.push({level: "warn", text: `${count(refused)} requests came with an unknown token, or with none, since the start.`});
  for (const {labels, value} of families.bayesd_model_drift ?? []) {
    if (value > DRIFT_FAR) found.push({level: "warn", view: "quality", model: labels.model,
      text: `The last 1,000 verdicts of ${labels.model} are spread otherwise than those before: something else comes in, or something else was taught.`});
  }
  return found;
}

function ofAModel(model) {
  if (model.state === "damaged") return [];
  const labels = labelsOf(model);
  const say = (text) => [{level: "warn", text, view: "train", model: model.name}];
  if (labels.length === 0) return say(`${model.name} has no documents yet.`);
  if (labels.length === 1) return say(`${model.name} knows one label only, ${labels[0][0]}: all it can say is that.`);
  const few = labels.filter(([, label]) => label.documents < FEW);
  if (few.length === 0) return [];
  const [name, label] = few[0];
  const others = few.length > 1 ? ` and ${plural(few.length - 1, "other label")} few` : "";
  return say(`${model.name}: ${name} has ${plural(label.documents, "document")}${others}; ${FEW} of each are a beginning.`);
}

// Of very many models the first ones: a list of hundreds is not read.
function ofModels(models) {
  const all = models.flatMap(ofAModel);
  const left = all.length - MODELS_MOST;
  return left > 1 ? [...all.slice(0, MODELS_MOST), {level: "warn", text: `${plural(left, "other model")} of these need documents, too.`}] : all;
}

// `waiting`: names of models in whose quarantine something waits.
const ofQuarantine = (waiting) => waiting.map((name) => ({level: "warn", view: "model", model: name, rest: ["sources"], text: `${name}: changes by sources without trust wait for you.`}));

export function concerns(state) {
  return [...ofTheStore(state), ...ofTheMetrics(state.families), ...ofQuarantine(state.waiting), ...ofModels(state.models)];
}
