// SPDX-License-Identifier: Apache-2.0
// The verdicts that a model keeps: filtered, opened, and put right by one click, without the document.

import {get, json, model as of} from "./api.js";
import {failure, field, h, put, say} from "./dom.js";
import {count, percent, plural} from "./format.js";
import {choose, labelList, labelsOf, nothing} from "./models.js";
import {change, kinds, strongest, summary} from "./verdict.js";

const PAGE = 50, EXPLAIN = 10000, BUTTONS_MOST = 3, CHOICES_MOST = 30, KEPT = 10000;

// ---- what is kept -------------------------------------------------------------------------------

// The model keeps none: what that would be, and a button that begins it.
function offer(place, info, again) {
  const begin = async () => {
    try {
      const {settings} = await get(of(info.name)); // a model that is gone is not made anew
      await json("PUT", of(info.name), {...settings, history: KEPT});
      again();
    } catch (error) {
      place.append(failure(error));
    }
  };
  put(place, h("section", {class: "panel"}, h("h2", null, "This model keeps no verdicts"),
    h("p", null, `It can keep the last ones on disk, with the words that it saw and not the documents themselves, for ${info.settings.history_days} days: those of mail software, `,
      "and those that are asked for with ?remember=1. A wrong one is then put right here, without the mail."),
    h("button", {type: "button", class: "main", onclick: begin}, `Keep the last ${count(KEPT)}`)));
}

// ---- a row --------------------------------------------------------------------------------------

class Row {
  constructor(list, row) {
    this.list = list;
    this.row = row;
    this.labels = h("td", {class: "answers"});
    this.title = row.subject || row.message_id || row.id;
    // What is read and pressed most comes first: on a phone the rest is out of sight.
    this.node = h("tr", null, h("th", {scope: "row"}, this.title), h("td", null, row.verdict, h("span", {class: "sure"}, percent(row.probability))), this.labels,
      h("td", null, h("button", {type: "button", class: "quiet", "aria-label": `Why: ${this.title}`, onclick: () => list.open(this.row)}, "Why")),
      h("td", null, new Date(row.time).toLocaleString()), h("td", null, row.source));
    this.drawLabels();
  }

  drawLabels() {
    const {row} = this;
    const names = this.list.labels;
    const teach = (label) => h("button", {type: "button", class: "quiet", "aria-label": `${label}: ${this.title}`, onclick: () => this.teach(label)}, label);
    const known = row.label ? h("strong", null, row.label, " ") : null;
    const others = names.filter((label) => label !== row.label);
    put(this.labels, known, h("span", {class: "row"}, names.length <= BUTTONS_MOST ? others.map(teach) : this.choice(others)));
  }

  // Of very many labels one is typed: a list of them in each row would be too much for a browser.
  choice(others) {
    const name = `Label of ${this.title}`;
    if (others.length > CHOICES_MOST) return h("input", {"aria-label": name, list: "history-labels", maxlength: 64, autocomplete: "off", onchange: (event) => this.typed(event.target.value.trim())});
    return h("select", {"aria-label": name, onchange: (event) => event.target.value && this.teach(event.target.value)},
      h("option", {value: ""}, "..."), others.map((label) => h("option", {value: label}, label)));
  }

  // A label that nobody has used before is a slip more often than not; a new one is given in Try.
  typed(label) {
    if (label === "") return;
    if (this.list.labels.includes(label)) this.teach(label);
    else put(this.list.told, h("p", {class: "notice warn", role: "alert"}, `The model has no label ${label}.`));
  }

  async teach(label) {
    try {
      const receipt = await json("POST", of(this.list.info.name, ["documents", this.row.id, "label"]), {label});
      this.row.label = receipt.label;
      this.drawLabels();
      say(`${this.title} is ${label}: ${receipt.status}`);
      put(this.list.told, h("p", {class: "notice good"}, `${this.title} is ${label} now. Documents: `,
        Object.entries(receipt.labels).map(([name, {documents}]) => `${name} ${count(documents)}`).join(", "), "."));
    } catch (error) {
      put(this.list.told, failure(error));
    }
  }
}

// ---- the list -----------------------------------------------------------------------------------

class List {
  constructor(place, info) {
    this.info = info;
    this.labels = labelsOf(info).map(([label]) => label);
    this.told = h("div");
    this.body = h("tbody");
    this.more = h("button", {type: "button", hidden: true, onclick: () => this.load(this.next)}, "More");
    this.none = h("p", {class: "notice"}, "No verdict is kept that fits.");
    this.why = h("div");
    const table = h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Verdicts"}, h("table", null, h("caption", null, "Verdicts, newest first"),
      h("thead", null, h("tr", null, ["Document", "Verdict", "It is", "Reasons", "When", "Asked by"].map((name) => h("th", {scope: "col"}, name)))), this.body));
    put(place, this.labels.length > CHOICES_MOST ? labelList("history-labels", this.labels) : null, this.filters(), this.told, table, this.none, this.more, this.why);
  }

  filters() {
    const contains = h("input", {type: "search", autocomplete: "off"}), verdict = h("select", {value: ""}, h("option", {value: ""}, "any"), this.labels.map((label) => h("option", {value: label}, label)));
    const most = h("input", {type: "number", min: 0, max: 100, step: "any", placeholder: "100"}), source = h("input", {autocomplete: "off"});
    const labelled = h("select", {value: ""}, [["", "all"], ["0", "without a label"], ["1", "with a label"]].map(([value, text]) => h("option", {value}, text)));
    this.read = () => ({contains: contains.value, verdict: verdict.value, most: most.value === "" ? undefined : Number(most.value) / 100, source: source.value, labelled: labelled.value});
    const form = h("form", {class: "row filters", onsubmit: (event) => {
      event.preventDefault();
      this.load();
    }}, field("Id, Message-ID or Subject has", contains), field("Verdict", verdict), field("At most so sure (%)", most), field("Asked by", source), field("Which", labelled),
    h("button", {type: "submit", class: "main"}, "Show"));
    for (const input of [verdict, labelled]) input.addEventListener("change", () => this.load());
    return form;
  }

  async load(after) {
    try {
      const {history, next} = await get(of(this.info.name, ["history"], {...this.read(), limit: PAGE, after}));
      const rows = history.map((row) => new Row(this, row).node);
      if (after) this.body.append(...rows);
      else put(this.body, rows);
      this.next = next;
      this.more.hidden = !next;
      this.none.hidden = this.body.childElementCount > 0;
      if (!after) say(plural(history.length, "verdict"));
    } catch (error) {
      put(this.told, failure(error));
    }
  }

  async open(row) {
    try {
      const {now} = await get(of(this.info.name, ["history", row.id], {explain: EXPLAIN}));
      const fields = Object.keys(this.info.settings.fields);
      const title = h("h2", {tabindex: -1}, `Why: ${row.subject || row.message_id || row.id}`);
      put(this.why, title, h("p", null, `It was ${row.verdict}, ${percent(row.probability)}, on ${new Date(row.time).toLocaleString()}. By what the model knows now:`),
        h("div", {class: "columns"}, h("section", {class: "panel"}, summary(now)), h("section", {class: "panel"}, kinds(now, fields), change(now))), strongest(now, fields));
      title.focus();
    } catch (error) {
      put(this.told, failure(error));
    }
  }
}

export async function show(place, rest) {
  const {name, picker} = await choose("history", rest);
  if (name === null) return void put(place, nothing());
  const below = h("div");
  put(place, picker, below);
  const again = async () => {
    const info = await get(of(name));
    if (info.state === "damaged") return void put(below, h("p", {class: "notice bad"}, "This model is damaged."));
    if (!info.settings.history) return offer(below, info, again);
    await new List(below, info).load();
  };
  await again();
}
