// SPDX-License-Identifier: Apache-2.0
// A model: its labels and words, settings, sources, copies, and what its documents are like.

import {may} from "./access.js";
import {get, model as of} from "./api.js";
import {h, put} from "./dom.js";
import {plural} from "./format.js";
import * as copies from "./model_copies.js";
import * as labels from "./model_labels.js";
import * as sample from "./model_sample.js";
import * as settings from "./model_settings.js";
import * as sources from "./model_sources.js";
import {choose, isUsable, whyUnusable} from "./models.js";
import {address} from "./router.js";

const PARTS = {labels: ["Labels", labels, "classify"], settings: ["Settings", settings, "admin"], sources: ["Sources", sources, "admin"],
  copies: ["Copies", copies, "admin"], sample: ["Sample", sample, "classify"]};

const offered = () => Object.entries(PARTS).filter(([, [, , role]]) => may(role));

function partLinks(name, shown) {
  return h("nav", {class: "parts", "aria-label": "Parts of the model"}, offered().map(([part, [title]]) =>
    h("a", {href: address("model", name, part), "aria-current": part === shown ? "page" : null}, title)));
}

export async function show(place, rest) {
  const {name, names, picker, none} = await choose("model", rest);
  if (name === null) return void put(place, names.length > 0 || !may("admin") ? none : copies.maker());
  const part = offered().some(([one]) => one === rest[1]) ? rest[1] : "labels";
  const info = await get(of(name));
  const work = h("div");
  const text = !isUsable(info) ? whyUnusable(info)
    : `${plural(info.documents, "document")}, ${plural(info.vocabulary, "word")}${info.unlabelled ? `, ${plural(info.unlabelled, "document")} without a label` : ""}.`;
  put(place, picker, h("p", {class: !isUsable(info) ? "notice bad" : "hint"}, text), partLinks(name, part), work);
  if (isUsable(info)) await PARTS[part][1].show(work, info);
}
