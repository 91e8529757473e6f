// SPDX-License-Identifier: Apache-2.0
// The models of Overview, a page at a time: there may be very many, one for each user.

import {may} from "./access.js";
import {get, path} from "./api.js";
import {field, h, put, table} from "./dom.js";
import {count, percent} from "./format.js";
import {isUsable, labelsOf, nothing} from "./models.js";
import {address} from "./router.js";

const PAGE = 100, SEARCHED_FROM = 10;
const LABELS_MOST = 4, LETTERS_MOST = 80; // of a model's labels in the list
const NAME_MOST = 128;
const JUDGED_LEAST = 50; // documents
// The bytes of names in their order; a name begins with a letter or a digit.
const BYTES = "+-.0123456789@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
const FIRST = BYTES.replace(/[^A-Za-z0-9]/g, "");

// The last name that can come before those that begin with this; undefined: none can. Null: no name begins so.
export function before(beginning) {
  if (beginning === "") return undefined;
  if (beginning.length > NAME_MOST || !/^[A-Za-z0-9][A-Za-z0-9._@+-]*$/.test(beginning)) return null;
  const head = beginning.slice(0, -1), bytes = head === "" ? FIRST : BYTES;
  const at = bytes.indexOf(beginning.at(-1));
  return at === 0 ? head || undefined : (head + bytes[at - 1]).padEnd(NAME_MOST, BYTES.at(-1));
}

function labelsText(model) {
  if (!isUsable(model)) return model.state;
  const labels = labelsOf(model);
  const shown = [];
  let letters = 0;
  for (const [name, label] of labels) {
    letters += name.length;
    if (shown.length === LABELS_MOST || (shown.length > 0 && letters > LETTERS_MOST)) break;
    shown.push([shown.length > 0 ? ", " : null, h("bdi", null, name), ` ${count(label.documents)}`]);
  }
  if (labels.length === 0) return "none";
  return [shown, shown.length < labels.length ? ` and ${count(labels.length - shown.length)} more` : null];
}

// The accuracy of few documents, or of one label, says nothing.
function accuracyOf(families, model) {
  const found = families?.bayesd_evaluation_accuracy?.find((sample) => sample.labels.model === model.name);
  return found && Number.isFinite(found.value) && model.documents >= JUDGED_LEAST && labelsOf(model).length > 1 ? percent(found.value) : "-";
}

function modelTable(models, families) {
  const links = (name) => h("span", {class: "links"}, [["try", "Try"], may("train") ? ["train", "Train"] : null, ["model", "Model"], ["quality", "Quality"]].filter(Boolean).map(([view, text]) =>
    h("a", {href: address(view, name), "aria-label": `${text} ${name}`}, text)));
  const rows = models.map((model) => [h("a", {href: address("model", model.name)}, model.name), labelsText(model), count(model.documents ?? 0), count(model.vocabulary ?? 0),
    accuracyOf(families, model), links(model.name)]);
  return table("Models", [{name: "Model"}, {name: "Documents of each label"}, {name: "Documents", number: true, aside: true},
    {name: "Vocabulary", number: true, aside: true}, {name: "Accuracy (last 1,000)", number: true}, {name: "Views"}], rows);
}

export class ModelList {
  // again(): asks for the page anew and shows it.
  constructor(place, again) {
    this.beginning = "";
    this.pages = [undefined]; // the name behind which each page begins, as far as they were turned
    this.shown = h("div");
    const input = h("input", {type: "search", maxlength: NAME_MOST, spellcheck: "false", autocomplete: "off"});
    const turn = (pages, beginning = this.beginning) => {
      Object.assign(this, {pages, beginning});
      again();
    };
    this.back = h("button", {type: "button", onclick: () => turn(this.pages.slice(0, -1))}, "Back");
    this.on = h("button", {type: "button", onclick: () => turn([...this.pages, this.next])}, "Next");
    this.finder = h("form", {class: "row filters", hidden: true, onsubmit: (event) => {
      event.preventDefault();
      turn([before(input.value.trim())], input.value.trim());
    }}, field("Filter models", input, "The beginning of the name"), h("button", {type: "submit"}, "Show"));
    this.turner = h("div", {class: "row", hidden: true}, this.back, this.on);
    put(place, this.finder, this.shown, this.turner);
  }

  // {models, next} of the page; `first` is the beginning of the list, which the caller has.
  async ask(first) {
    const after = this.pages.at(-1);
    if (after === null) return {models: []};
    const whole = after === undefined && this.beginning === "" ? first : await get(path(["v1", "models"], {limit: PAGE, after}));
    const models = whole.models.slice(0, PAGE).filter((model) => model.name.startsWith(this.beginning));
    const isCut = models.length === PAGE && (whole.models.length > PAGE || whole.next);
    return {models, next: isCut ? models.at(-1).name : undefined};
  }

  draw({models, next}, families) {
    this.next = next;
    const isAll = this.beginning === "" && this.pages.length === 1;
    const shown = models.length > 0 ? modelTable(models, families) : isAll ? nothing() : h("p", {class: "notice"}, this.pages.length > 1 ? "There are no more models." : "No model has such a name.");
    const text = JSON.stringify([models, families?.bayesd_evaluation_accuracy]);
    if (text !== this.drawn) put(this.shown, shown);
    this.drawn = text;
    if (next || !isAll || models.length > SEARCHED_FROM) this.finder.hidden = false; // once there, it stays
    this.turner.hidden = !next && this.pages.length === 1;
    this.back.disabled = this.pages.length === 1;
    this.on.disabled = !next;
  }
}
