// SPDX-License-Identifier: Apache-2.0
// What needs attention: a list of {level: "bad" or "warn", text, view, model, rest}.

import {bytes, count, plural} from "./format.js";
import {isUsable, labelsOf} from "./models.js";
import {total} from "./metrics.js";

const FEW = 10; // documents of a label, below which its verdicts mean little (ready_documents)
const MODELS_MOST = 8;
const DRIFT_FAR = 0.25; // as the alert of config/monitoring
const ROOM_LEAST = 256 << 20; // bytes
const REFUSED_MANY = 100; // this page asks once without a token, too

function ofTheUpgrade(upgrade) {
  if (!upgrade) return [];
  const {models, models_left: left, entries, entries_done: done} = upgrade;
  return [{level: "warn", text: `An older version has stored ${plural(models, "model")}, which this one computes anew: ${count(left)} to go, ${count(done)} of ${count(entries)} changes are done. The other models answer.`}];
}

function ofTheStore({unready, damaged, upgrade}) {
  if (unready) return [{level: "bad", text: `The daemon is not ready: ${unready}`}];
  return ofTheUpgrade(upgrade).concat(damaged.map((name) => ({level: "bad", text: `The model ${name} is damaged. Run "bayesd --rebuild", or restore a backup.`})));
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
    found.push({level: left < ROOM_LEAST / 4 ? "bad" : "warn", text: `${bytes(left)} are free on the disk of the models. A full disk stops learning; a rebuild needs as much as the models have, ${bytes(store)}.`});
  }
  if (queued > 10000) found.push({level: "warn", text: `${count(queued)} changes wait to be written: the disk is slow.`});
  if (refused > REFUSED_MANY) found.push({level: "warn", text: `${count(refused)} requests came with an unknown token, or with none, since the start.`});
  for (const {labels, value} of families.bayesd_model_drift ?? []) {
    if (value > DRIFT_FAR) found.push({level: "warn", view: "quality", model: labels.model,
      text: `${labels.model}: the last 1,000 verdicts are distributed differently from those before. The documents have changed, or what was taught.`});
  }
  return found;
}

function ofAModel(model) {
  if (!isUsable(model)) return [];
  const labels = labelsOf(model);
  const say = (text) => [{level: "warn", text, view: "train", model: model.name}];
  if (labels.length === 0) return say(`${model.name} has no documents yet.`);
  if (labels.length === 1) return say(`${model.name} knows one label only, ${labels[0][0]}.`);
  const few = labels.filter(([, label]) => label.documents < FEW);
  if (few.length === 0) return [];
  const [name, label] = few[0];
  const others = few.length > 1 ? `, ${plural(few.length - 1, "other label")} too few` : "";
  return say(`${model.name}: ${name} has ${plural(label.documents, "document")}${others}; ${FEW} of each are a beginning.`);
}

// Of a few models each that is still learning is named. Of many, as of a site with one for each user, some always are: they are
// counted (learning()), and are no reason for concern.
const ofModels = (models) => (models.length > MODELS_MOST ? [] : models.flatMap(ofAModel));

// Of many models: {all, learning: [{text, view, model}]}; null: they are few.
export function learning({models}) {
  return models.length > MODELS_MOST ? {all: models.length, learning: models.flatMap(ofAModel)} : null;
}

// `waiting`: names of models with changes in their quarantine.
const ofQuarantine = (waiting) => waiting.map((name) => ({level: "warn", view: "model", model: name, rest: ["sources"], text: `${name}: changes from sources without trust wait in the quarantine.`}));

export function concerns(state) {
  return [...ofTheStore(state), ...ofTheMetrics(state.families), ...ofQuarantine(state.waiting), ...ofModels(state.models)];
}
