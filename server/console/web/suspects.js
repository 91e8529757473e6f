// SPDX-License-Identifier: Apache-2.0
// The learned documents whose labels are probably wrong: one key keeps a label, another one corrects it.

import {get, json, model as of} from "./api.js";
import {failure, h, put, say} from "./dom.js";
import {count, moment, percent, plural} from "./format.js";
import {choose, hasSeveral, isUsable, labelsOf} from "./models.js";
import {badge} from "./verdict.js";

const PAGE = 100, SOURCES_SHOWN = 10;
const COLUMNS = ["Document", "Label", "Suggested", "", "Words", "Time", "Source"];

const unfinished = () => h("p", {class: "notice"}, "The model must learn some documents of each label first.");

class Row {
  constructor(list, row) {
    this.list = list;
    this.row = row;
    this.answers = h("td", {class: "answers third"});
    this.label = h("td", {class: "first"});
    this.node = h("tr", {tabindex: -1, onkeydown: (event) => this.key(event)}, h("th", {scope: "row", title: row.id}, row.id), this.label,
      h("td", {class: "second"}, this.suggestion()), this.answers, h("td", {class: "number aside"}, count(row.tokens)),
      h("td", {class: "when", title: new Date(row.time).toLocaleString()}, moment(row.time)), h("td", {class: "aside"}, row.source));
    this.draw();
  }

  // What the document keeps where the suggestion is wrong.
  get kept() {
    return this.row.label;
  }

  suggestion() {
    return badge(this.list.labels, {label: this.row.suggested, probability: this.row.probability});
  }

  send(label) {
    return json("POST", of(this.list.info.name, ["documents", this.row.id, "label"]), {label});
  }

  draw() {
    const {row} = this;
    const button = (text, label) => h("button", {type: "button", class: "quiet", "aria-label": `${text}: ${row.id}`, onclick: () => this.give(label)}, text);
    put(this.label, this.given === undefined ? badge(this.list.labels, {label: row.label, probability: row.label_probability}) : h("strong", {class: "badge plain"}, this.answered()));
    put(this.answers, h("span", {class: "buttons"}, this.given === undefined ? [button("Keep", this.kept), button("Correct", row.suggested)] : this.given === this.kept ? "kept" : ["corrected ", button("Undo", this.kept)]));
  }

  answered() {
    return this.given;
  }

  saying(label) {
    return label === this.row.label ? `${this.row.id} stays ${label}.` : `${this.row.id} is ${label} now.`;
  }

  // j and k go to the next and the last row, y says yes to the suggestion, n no; a number gives the label with that number.
  key(event) {
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    const {rows, labels} = this.list, at = rows.indexOf(this), {row} = this;
    const label = {y: row.suggested, n: this.kept, u: this.given === undefined ? undefined : this.kept}[event.key] ?? this.byNumber(labels["123456789".indexOf(event.key)]);
    if (event.key === "j") rows[at + 1]?.node.focus();
    else if (event.key === "k") rows[at - 1]?.node.focus();
    else if (label !== undefined) this.give(label);
  }

  byNumber(label) {
    return label;
  }

  // The label that the document has is kept by giving it once more.
  async give(label) {
    if (this.isBusy || label === this.given) return;
    this.isBusy = true;
    try {
      await this.send(label);
      const isFirst = this.given === undefined, {rows} = this.list;
      this.given = label;
      put(this.list.told);
      say(this.saying(label));
      const hadFocus = this.node.contains(document.activeElement);
      this.draw();
      if (hadFocus) ((isFirst && rows[rows.indexOf(this) + 1]) || this).node.focus();
    } catch (error) {
      put(this.list.told, failure(error));
    } finally {
      this.isBusy = false;
    }
  }
}

// One of the labels of a document that has several: what is given is "add" or "remove".
class RowOfSeveral extends Row {
  get kept() {
    return this.row.suggested === "add" ? "remove" : "add";
  }

  suggestion() {
    return h("span", {class: "badge plain"}, `${this.row.suggested} `, h("span", {class: "number"}, percent(this.row.probability)));
  }

  // Labels that are kept are given once more, all of them.
  async send(change) {
    const path = of(this.list.info.name, ["documents", this.row.id]);
    if (this.given !== undefined || change !== this.kept) return json("PATCH", path, {[change]: [this.row.label]});
    const {labels} = await get(path);
    return json("POST", of(this.list.info.name, ["documents", this.row.id, "label"]), {labels});
  }

  byNumber() {
    return undefined;
  }

  answered() {
    return this.given === "add" ? this.row.label : `not ${this.row.label}`;
  }

  saying(change) {
    return `${this.row.id} ${change === "add" ? "has" : "does not have"} the label ${this.row.label}.`;
  }
}

class List {
  constructor(place, info) {
    this.place = place;
    this.info = info;
    this.labels = labelsOf(info).map(([label]) => label);
    this.isSeveral = hasSeveral(info);
    this.rows = [];
    this.told = h("div", null, h("p", {class: "notice"}, "Each document is scored without itself; that takes some seconds for 10,000 documents."));
    this.sums = h("div");
    this.body = h("tbody");
    this.caption = h("caption", null, "Documents");
    this.more = h("button", {type: "button", hidden: true, onclick: () => this.load(this.next)}, "More");
    const table = h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Documents"}, h("table", {class: "dense"}, this.caption,
      h("thead", null, h("tr", null, COLUMNS.map((name) => (name === "" ? h("td") : h("th", {scope: "col"}, name))))), this.body));
    put(place, this.told, this.sums, table, this.more,
      h("p", {class: "hint"}, `While a row has the focus: j and k move, y takes the suggestion, n keeps the label as it is, ${this.isSeveral ? "" : "1 to 9 give one, "}u takes a correction back. A label that was kept is not suspected again.`));
  }

  async load(after) {
    this.more.disabled = true;
    try {
      const reply = await get(of(this.info.name, ["suspects"], {limit: PAGE, after}));
      const rows = reply.suspects.map((row) => new (this.isSeveral ? RowOfSeveral : Row)(this, row));
      this.rows.push(...rows);
      this.body.append(...rows.map((row) => row.node));
      if (reply.looked_at === 0) return void put(this.place, unfinished());
      if (this.rows.length === 0) return void put(this.place, h("p", {class: "notice good"}, `No label looks wrong: of ${plural(reply.looked_at, "document")} each has the ${this.isSeveral ? "labels" : "label"} that the others suggest.`));
      this.rows[0].node.tabIndex = 0; // the rows' keys begin here
      const from = reply.sources.slice(0, SOURCES_SHOWN).map(({source, documents}) => `${source || "(none)"} ${count(documents)}`).join(", ");
      put(this.sums, h("p", null, `Of ${plural(reply.looked_at, "document")} ${this.isSeveral ? "a label is too many, or missing," : "another label wins"} for ${count(reply.suspected)}, for ${count(reply.likely)} of them with .9 and more.`,
        from === "" ? "" : ` By source: ${from}.`));
      put(this.caption, `${count(this.rows.length)} of ${count(reply.suspected)}, the most suspect first`);
      this.next = reply.next;
      this.more.hidden = !reply.next;
      put(this.told);
      if (!after) say(plural(reply.suspected, "document"));
    } catch (error) {
      put(this.told, failure(error));
    }
    this.more.disabled = false;
  }
}

export async function show(place, rest) {
  const {name, picker, none} = await choose("suspects", rest);
  if (name === null) return void put(place, none);
  const info = await get(of(name));
  if (!isUsable(info) || info.documents === 0) return void put(place, picker, unfinished());
  const below = h("div");
  put(place, picker, below);
  await new List(below, info).load();
}
