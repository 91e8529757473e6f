// SPDX-License-Identifier: Apache-2.0
// The documents without a label that would teach most, one after the other; one key gives a label, another takes the last
// one back. The progress is measured on the documents that have a label.

import {get, json, model as of} from "./api.js";
import {failure, field, h, put, say} from "./dom.js";
import {moment, percent, plural} from "./format.js";
import {choose, hasSeveral, isUsable, judgesWithout, labelList, labelsOf} from "./models.js";
import {gain} from "./next_gain.js";
import {address} from "./router.js";

const AT_ONCE = 10, MEASURED_EVERY = 5, KEYS = "123456789";

class Labelling {
  constructor(place, info) {
    this.info = info;
    this.known = labelsOf(info).map(([label]) => label);
    this.queue = [];
    this.skipped = new Set();
    this.given = 0;
    this.last = null; // the document that got the last label, until it is taken back
    this.measures = []; // {given, accuracy, loss}
    this.course = []; // of each label that was given, whether the model had said it
    this.card = h("section", {class: "panel card", tabindex: 0, "aria-label": "A document", onkeydown: (event) => this.key(event)});
    this.gain = h("div", {class: "panel"});
    this.told = h("div");
    put(place, labelList("next-labels", this.known), h("p", {class: "hint"}, this.help()), this.told, this.card, this.gain);
  }

  count() {
    return `${plural(this.given, "label")} given`;
  }

  help() {
    return "While the document has the focus, press the number of a label, 0 to skip the document, or u to undo the last label.";
  }

  async begin() {
    this.measure();
    await this.turn();
  }

  // The next document; others are asked for when the first ones are done, because what was learned changes the choice.
  async turn() {
    this.queue = this.queue.filter((one) => !this.skipped.has(one.id));
    if (this.queue.length === 0) {
      const {next} = await get(of(this.info.name, ["next"], {count: AT_ONCE + this.skipped.size}));
      this.queue = next.filter((one) => !this.skipped.has(one.id)).slice(0, AT_ONCE);
    }
    this.draw(this.queue.shift() ?? null);
  }

  draw(one) {
    this.one = one;
    if (one === null) return void put(this.card, h("p", null, "There is no document without a label left. Kept verdicts come here, and documents that are stored without a label: see ",
      h("a", {href: address("history", this.info.name)}, "History"), "."), this.undoButton());
    this.labels = this.keysOf(one);
    put(this.card, h("h2", null, one.subject || one.message_id || one.id), one.from ? h("p", {class: "from"}, "From: ", h("bdi", null, one.from)) : null, h("p", {class: "words"}, one.words || "(its words are not kept)"),
      h("p", {class: "hint"}, `${one.remembered ? "Asked about" : "Stored"} ${moment(Date.parse(one.time))}.`),
      h("p", {class: "hint"}, this.said(one)),
      h("div", {class: "row"}, this.labels.map((label, i) => this.button(label, KEYS[i])), this.applyButton(), h("button", {type: "button", class: "quiet", onclick: () => this.skip()}, h("kbd", null, "0"), " Skip"), this.undoButton()));
    if (this.known.length > KEYS.length) this.card.append(this.others());
    this.card.focus({preventScroll: true});
  }

  said(one) {
    return `The model says ${one.verdict}, ${percent(one.probability)}; ${percent(one.margin)} before the next label.`;
  }

  button(label, key) {
    return h("button", {type: "button", onclick: () => this.press(label)}, h("kbd", null, key), ` ${label}`);
  }

  // One label needs no button to apply it.
  applyButton() {
    return null;
  }

  press(label) {
    this.teach({label}, label, label === this.one.verdict);
  }

  undoButton() {
    return this.last === null ? null : h("button", {type: "button", class: "quiet", onclick: () => this.undo()}, h("kbd", null, "u"), " Undo");
  }

  // The labels with a key: those with the most documents, always in the same order; the last key is of the verdict, where
  // that would have none.
  keysOf(one) {
    const first = this.known.slice(0, KEYS.length);
    return this.known.length <= KEYS.length || first.includes(one.verdict) ? first : [...first.slice(0, -1), one.verdict];
  }

  others() {
    const input = h("input", {list: "next-labels", maxlength: 64, autocomplete: "off"});
    return h("form", {class: "row", onsubmit: (event) => {
      event.preventDefault();
      const label = input.value.trim();
      if (this.known.includes(label)) this.press(label);
      else if (label) put(this.told, h("p", {class: "notice warn", role: "alert"}, `The model has no label ${label}.`));
    }}, field("Another label", input), h("button", {type: "submit"}, "Apply"));
  }

  key(event) {
    // A key that is held down repeats: it gives one label.
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.localName === "input") return;
    if (event.key === "u") return void this.undo();
    if (this.one === null) return;
    const label = this.labels[KEYS.indexOf(event.key)];
    if (label !== undefined) this.press(label);
    else if (event.key === "0") this.skip();
  }

  skip() {
    if (this.one === null) return;
    this.skipped.add(this.one.id);
    this.attempt(() => this.turn());
  }

  // What is sent, for people, and whether the model had said so.
  teach(given, name, isRight) {
    const {one} = this;
    if (one === null || this.isBusy) return;
    this.attempt(async () => {
      await json("POST", of(this.info.name, ["documents", one.id, "label"]), given);
      this.given++;
      this.course.push(isRight);
      this.last = one;
      say(`${name}. ${this.count()}.`);
      if (this.given % MEASURED_EVERY === 0) this.measure();
      else this.drawGain();
      await this.turn();
    });
  }

  // Takes the last label back, and shows its document again: a stored document stays without a label, a remembered one is
  // forgotten, as it was before.
  undo() {
    const one = this.last;
    if (one === null || this.isBusy) return;
    this.attempt(async () => {
      await json("POST", of(this.info.name, [one.remembered ? "untrain" : "train"]), one.remembered ? {id: one.id} : {id: one.id, label: null});
      this.last = null;
      this.given--;
      this.course.pop();
      if (this.one !== null) this.queue.unshift(this.one);
      say("The last label is taken back.");
      this.drawGain();
      this.draw(one);
    });
  }

  async attempt(what) {
    this.isBusy = true;
    try {
      put(this.told);
      await what();
    } catch (error) {
      put(this.told, failure(error));
    } finally {
      this.isBusy = false;
    }
  }

  // By the leave-one-out verdicts on the learned documents, while the user goes on. A model without such verdicts, or without
  // any yet, is labelled all the same.
  async measure() {
    const {given} = this;
    try {
      if (judgesWithout(this.info) && !hasSeveral(this.info)) {
        const {windows} = await get(of(this.info.name, ["evaluation"], {scores: "leave-one-out"}));
        const {accuracy, log_loss: loss} = windows.at(-1);
        this.measures = [...this.measures.filter((one) => one.given !== given), {given, accuracy, loss}].sort((a, b) => a.given - b.given);
      }
    } catch (error) {
      if (error.status !== 409) put(this.told, failure(error));
    }
    this.drawGain();
  }

  drawGain() {
    put(this.gain, gain(this.info.name, this.measures, this.course, MEASURED_EVERY, this.count()));
  }
}

// Documents have several labels: a key puts one on or takes it off, Enter applies those that are on. They begin as the model
// gives them.
class LabellingSeveral extends Labelling {
  count() {
    return `${plural(this.given, "document")} labelled`;
  }

  help() {
    return "While the document has the focus, press the number of a label to put it on or take it off, Enter to apply, 0 to skip the document, or u to undo the last one.";
  }

  draw(one) {
    this.on = new Set(one?.labels);
    super.draw(one);
  }

  said(one) {
    const given = one.labels.length === 0 ? "none of the labels" : one.labels.join(", ");
    return `The model gives it ${given}. It is least sure of ${one.verdict}, ${percent(one.probability)}.`;
  }

  button(label, key) {
    const is = this.on.has(label);
    return h("button", {type: "button", "aria-pressed": String(is), onclick: () => this.press(label)}, h("kbd", null, key), ` ${label}`);
  }

  applyButton() {
    const rest = [...this.on].filter((label) => !this.labels.includes(label)).map((label) => h("button", {type: "button", "aria-pressed": "true", onclick: () => this.press(label)}, label));
    return [...rest, h("button", {type: "button", onclick: () => this.apply()}, h("kbd", null, "Enter"), this.on.size === 0 ? " None of the labels" : " Apply")];
  }

  press(label) {
    const on = new Set(this.on);
    if (!on.delete(label)) on.add(label);
    this.on = on;
    super.draw(this.one);
  }

  apply() {
    const labels = [...this.on].sort();
    this.teach({labels}, labels.join(", ") || "None of the labels", labels.join("\n") === [...this.one.labels].sort().join("\n"));
  }

  key(event) {
    if (event.key === "Enter" && event.target === this.card && this.one !== null && !event.repeat) this.apply();
    else super.key(event);
  }
}

export async function show(place, rest) {
  const {name, picker, none} = await choose("next", rest);
  if (name === null) return void put(place, none);
  const info = await get(of(name));
  if (!isUsable(info) || info.documents === 0) return void put(place, picker, h("p", {class: "notice"}, "The model must learn some documents of each label first."));
  const below = h("div");
  put(place, picker, below);
  await new (hasSeveral(info) ? LabellingSeveral : Labelling)(below, info).begin();
}
