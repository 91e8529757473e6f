// SPDX-License-Identifier: Apache-2.0
// The verdicts that a model keeps: filtered, explained in their row, and corrected by one click or key, without the document.

import {may} from "./access.js";
import {get, json, model as of} from "./api.js";
import {failure, field, folded, h, put, say} from "./dom.js";
import {count, moment, plural} from "./format.js";
import {choose, forOneLabel, hasSeveral, isUsable, labelList, labelsOf, whyUnusable} from "./models.js";
import {filters as ofAddress, keepFilters} from "./router.js";
import {badges, change, headline, kinds, strongest, summary} from "./verdict.js";

const PAGE = 50, SORTED = 1000, EXPLAIN = 10000, BUTTONS_MOST = 3, CHOICES_MOST = 30, KEPT = 10000;
const COLUMNS = ["", "Document", "Verdict", "Label", "Reasons", "Time", "Source"];

// ---- what is kept -------------------------------------------------------------------------------

// The model keeps none: an explanation, and a button that begins it.
function offer(place, info, again) {
  const subject = h("input", {type: "checkbox", id: "keep-subjects"});
  const begin = async () => {
    try {
      const {settings} = await get(of(info.name)); // a model that is gone is not made anew
      await json("PUT", of(info.name), {...settings, history: KEPT, history_subject: subject.checked});
      again();
    } catch (error) {
      place.append(failure(error));
    }
  };
  put(place, h("section", {class: "panel"}, h("h2", null, "This model keeps no verdicts"),
    h("p", null, `It can keep its last verdicts on disk for ${info.settings.history_days} days, with the words of the documents and not the documents themselves: those for mail software, `,
      "and those of requests with ?remember=1. Here a wrong one can then be corrected without the mail."),
    may("admin") ? [h("p", null, subject, " ", h("label", {for: "keep-subjects"}, "Keep Subject and From of mails, too")),
      h("button", {type: "button", class: "main", onclick: begin}, `Keep the last ${count(KEPT)}`)] : h("p", null, "An administrator can switch that on.")));
}

// ---- a row --------------------------------------------------------------------------------------

class Row {
  constructor(list, row) {
    this.list = list;
    this.row = row;
    this.labels = h("td", {class: "answers second"});
    this.told = h("td", {colspan: COLUMNS.length});
    this.box = h("input", {type: "checkbox", onchange: () => list.chosen()});
    this.below = h("tr", {hidden: true, class: "below"}, this.told); // the answer and the reasons unfold here
    this.title = row.subject || row.message_id || row.id;
    this.box.setAttribute("aria-label", `Select ${this.title}`);
    // On a phone a row has two lines: the document and its time; verdict, answers and reasons.
    this.why = h("button", {type: "button", class: "quiet", "aria-label": `Why: ${this.title}`, "aria-expanded": "false", onclick: () => this.open()}, "Why");
    this.node = h("tr", {tabindex: -1, onkeydown: (event) => this.key(event)}, h("td", {class: "box"}, this.box), h("th", {scope: "row", title: row.from ? `${this.title}, from ${row.from}` : this.title}, this.title),
      h("td", {class: "first"}, badges(list.labels, this.verdict())), this.labels,
      h("td", {class: "third"}, this.why),
      h("td", {class: "when", title: new Date(row.time).toLocaleString()}, moment(row.time)), h("td", {class: "aside"}, row.source));
    this.drawLabels();
  }

  // The verdict that was kept, with the decision "none" where the model's setting min_known makes it.
  verdict() {
    const {row, list} = this;
    return {label: row.verdict, probability: row.probability, known: row.known, decision: row.known < list.info.settings.min_known ? "none" : undefined};
  }

  drawLabels() {
    const {row} = this;
    const names = this.list.labels;
    const teach = (label) => h("button", {type: "button", class: "quiet", "aria-label": `${label}: ${this.title}`, onclick: () => this.teach(label)}, label);
    const known = row.label ? h("strong", {class: "badge plain"}, row.label) : null;
    const others = names.filter((label) => label !== row.label);
    const undo = this.before === undefined ? null : h("button", {type: "button", class: "quiet", "aria-label": `Undo: ${this.title}`, onclick: () => this.undo()}, "Undo");
    put(this.labels, h("span", {class: "buttons"}, known, names.length <= BUTTONS_MOST ? others.map(teach) : this.choice(others), undo));
  }

  // Of very many labels one is typed: a list of them in each row would be too much for a browser.
  choice(others) {
    const name = `Label of ${this.title}`;
    if (others.length > CHOICES_MOST) return h("input", {"aria-label": name, list: "history-labels", maxlength: 64, autocomplete: "off", onchange: (event) => this.typed(event.target.value.trim())});
    return h("select", {"aria-label": name, onchange: (event) => event.target.value && this.teach(event.target.value)},
      h("option", {value: ""}, "..."), others.map((label) => h("option", {value: label}, label)));
  }

  // Keys while a row has the focus: j and k go to the next and the last row, a number gives the label with that number, u takes it back, x selects it.
  key(event) {
    const isTyped = event.target.localName === "select" || (event.target.localName === "input" && event.target !== this.box);
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || isTyped) return;
    const {rows, labels} = this.list, at = rows.indexOf(this);
    if (event.key === "j") rows[at + 1]?.node.focus();
    else if (event.key === "k") rows[at - 1]?.node.focus();
    else if (event.key === "u") this.undo();
    else if (event.key === "x") this.select(!this.box.checked);
    else if (labels["123456789".indexOf(event.key)]) this.teach(labels["123456789".indexOf(event.key)]);
  }

  select(isChosen) {
    this.box.checked = isChosen;
    this.list.chosen();
  }

  tell(...children) {
    put(this.told, h("div", {class: "unfolded"}, children));
    this.below.hidden = false;
  }

  // A label that nobody has used before is a typing error more often than not; Try takes a new one.
  typed(label) {
    if (label === "") return;
    if (this.list.labels.includes(label)) this.teach(label);
    else this.tell(h("p", {class: "notice warn", role: "alert"}, `The model has no label ${label}.`));
  }

  async teach(label) {
    if (label === this.row.label) return;
    const before = this.row.label ?? null;
    await this.change(label, before, `${this.title} is ${label} now.`, () => json("POST", of(this.list.info.name, ["documents", this.row.id, "label"]), {label}));
  }

  // The label that the document had before, or none.
  async undo() {
    if (this.before === undefined) return;
    const {before} = this, {id} = this.row;
    await this.change(before, undefined, before === null ? `${this.title} has no label again.` : `${this.title} is ${before} again.`,
      () => (before === null ? json("POST", of(this.list.info.name, ["untrain"]), {id}) : json("POST", of(this.list.info.name, ["documents", id, "label"]), {label: before})));
  }

  // `before` is what an undo restores; undefined: there is none. Sets hasFailed.
  async change(label, before, text, act) {
    const hadFocus = this.node.contains(document.activeElement);
    this.hasFailed = false;
    try {
      const receipt = await act();
      this.row.label = label;
      this.before = before;
      this.drawLabels();
      say(text);
      this.tell(h("p", {class: "notice good"}, `${text} Documents: `, Object.entries(receipt.labels).map(([name, {documents}]) => `${name} ${count(documents)}`).join(", "), "."));
    } catch (error) {
      this.tell(failure(error));
      this.hasFailed = true;
    }
    if (hadFocus) this.node.focus({preventScroll: true}); // the button that was pressed is gone
  }

  // The reasons, or, if they are open, nothing.
  async open() {
    const isOpen = this.why.getAttribute("aria-expanded") === "true", {row, list} = this;
    this.why.setAttribute("aria-expanded", String(!isOpen));
    this.below.hidden = isOpen;
    if (isOpen) return;
    try {
      const {now} = await get(of(list.info.name, ["history", row.id], {explain: EXPLAIN}));
      const fields = Object.keys(list.info.settings.fields);
      this.tell(h("h2", null, `Why: ${this.title}`), row.from ? h("p", null, "From: ", h("bdi", null, row.from)) : null, h("p", null, `The verdict of ${new Date(row.time).toLocaleString()} was ${headline(this.verdict())}. With what the model knows now:`),
        h("div", {class: "columns"}, h("section", {class: "panel"}, summary(now)), h("section", {class: "panel"}, kinds(now, fields), change(now))), strongest(now, fields));
    } catch (error) {
      this.tell(failure(error));
    }
  }
}

// ---- the list -----------------------------------------------------------------------------------

const NEWEST = "newest", UNSURE = "unsure";

// The first or the last millisecond of a day that a date input gives, as the API wants it.
const dayStart = (day) => day && new Date(`${day}T00:00:00`).toISOString();
const dayEnd = (day) => day && new Date(`${day}T23:59:59.999`).toISOString();

class List {
  constructor(place, info) {
    this.info = info;
    this.labels = labelsOf(info).map(([label]) => label);
    this.told = h("div");
    this.body = h("tbody");
    this.more = h("button", {type: "button", hidden: true, onclick: () => this.load(this.next)}, "More");
    this.place = h("input", {type: "number", min: 1, step: 1, required: true});
    this.jump = h("form", {class: "row filters", hidden: true, onsubmit: (event) => {
      event.preventDefault();
      this.at = Number(this.place.value);
      this.load();
    }}, field("Go to number", this.place), h("button", {type: "submit"}, "Go"));
    this.at = Math.max(1, Math.floor(Number(ofAddress().at)) || 1); // number of the first row among those that match
    this.none = h("p", {class: "notice"}, "No kept verdict matches.");
    this.caption = h("caption", null, "Verdicts");
    this.all = h("input", {type: "checkbox", "aria-label": "Select all shown", onchange: () => {
      for (const row of this.rows) row.box.checked = this.all.checked;
      this.chosen();
    }});
    this.actions = h("div", {class: "row actions", hidden: true, role: "group", "aria-label": "Selected verdicts"});
    this.rows = [];
    const table = h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Verdicts"}, h("table", {class: "dense"}, this.caption,
      h("thead", null, h("tr", null, COLUMNS.map((name) => (name === "" ? h("td", {class: "box"}, this.all) : h("th", {scope: "col"}, name))))), this.body));
    put(place, this.labels.length > CHOICES_MOST ? labelList("history-labels", this.labels) : null, this.filters(), this.told, this.actions, table, this.none, this.more, this.jump,
      h("p", {class: "hint"}, "While a row has the focus: j and k move, 1 to 9 give a label, u takes it back, x selects."));
  }

  // The filters are those of the address, so that a view can be sent to somebody and found again.
  filters() {
    const old = ofAddress();
    const choice = (value, options) => h("select", {value: value ?? options[0][0]}, options.map(([name, text]) => h("option", {value: name}, text)));
    const inputs = {
      contains: h("input", {type: "search", autocomplete: "off", value: old.contains ?? ""}),
      verdict: choice(old.verdict, [["", "any"], ...this.labels.map((label) => [label, label])]),
      most: h("input", {type: "number", min: 0, max: 100, step: "any", placeholder: "100", value: old.most ?? ""}),
      from: h("input", {type: "date", value: old.from ?? ""}),
      to: h("input", {type: "date", value: old.to ?? ""}),
      source: h("input", {autocomplete: "off", value: old.source ?? ""}),
      labelled: choice(old.labelled, [["", "all"], ["0", "without a label"], ["1", "with a label"]]),
      sort: choice(old.sort, [[NEWEST, "newest first"], [UNSURE, "least sure first"]]),
    };
    this.read = () => Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
    const form = h("form", {class: "row filters", onsubmit: (event) => {
      event.preventDefault();
      this.search();
    }}, field("Id, Message-ID, Subject or From has", inputs.contains), field("Verdict", inputs.verdict), field("Probability at most (%)", inputs.most), field("From", inputs.from), field("To", inputs.to),
    field("Source", inputs.source), field("Label", inputs.labelled), field("Sort", inputs.sort), h("button", {type: "submit", class: "main"}, "Show"));
    for (const input of [inputs.verdict, inputs.labelled, inputs.sort, inputs.from, inputs.to]) input.addEventListener("change", () => this.search());
    return folded("Filters", Object.keys(old).length > 0, form);
  }

  // One action for the rows that are selected.
  chosen() {
    const rows = this.rows.filter((row) => row.box.checked);
    this.all.checked = rows.length > 0 && rows.length === this.rows.length;
    this.all.indeterminate = rows.length > 0 && !this.all.checked;
    this.actions.hidden = rows.length === 0;
    const each = (text, act) => async () => {
      for (const row of rows) await act(row);
      const failed = rows.filter((row) => row.hasFailed).length;
      for (const row of rows) row.box.checked = row.hasFailed === true;
      this.chosen();
      const message = `${plural(rows.length - failed, "document")} ${text}.${failed > 0 ? ` ${plural(failed, "document")} failed and ${failed === 1 ? "stays" : "stay"} selected.` : ""}`;
      put(this.told, h("p", {class: `notice ${failed > 0 ? "bad" : "good"}`}, message));
      say(message);
    };
    const teach = (label) => h("button", {type: "button", class: "quiet", onclick: each(`now ${label}`, (row) => row.teach(label))}, `All are ${label}`);
    const many = () => h("select", {"aria-label": "Label of the selected", onchange: (event) => event.target.value && each(`now ${event.target.value}`, (row) => row.teach(event.target.value))()},
      h("option", {value: ""}, "All are ..."), this.labels.map((label) => h("option", {value: label}, label)));
    put(this.actions, h("strong", null, `${count(rows.length)} selected`), this.labels.length <= BUTTONS_MOST ? this.labels.map(teach) : many(),
      rows.some((row) => row.before !== undefined) ? h("button", {type: "button", class: "quiet", onclick: each("as before", (row) => row.undo())}, "Undo") : null);
  }

  search() {
    this.at = 1;
    this.load();
  }

  async load(after) {
    const {sort, ...asked} = this.read(), isSorted = sort === UNSURE;
    if (isSorted) this.at = 1;
    const skip = after ? 0 : this.at - 1;
    if (!after) keepFilters({...asked, sort: isSorted ? sort : "", at: skip > 0 ? this.at : ""});
    try {
      const reply = await get(of(this.info.name, ["history"], {...asked, most: asked.most === "" ? undefined : Number(asked.most) / 100,
        from: dayStart(asked.from), to: dayEnd(asked.to), limit: isSorted ? SORTED : PAGE, after, skip: skip || undefined, total: after ? undefined : 1}));
      const {history, next} = reply;
      if (!after) this.total = `${count(reply.total)}${reply.total_is_complete ? "" : " or more"}`;
      if (isSorted) history.sort((a, b) => a.probability - b.probability);
      const rows = history.map((row) => new Row(this, row));
      const nodes = rows.flatMap((row) => [row.node, row.below]);
      this.rows = after ? [...this.rows, ...rows] : rows;
      if (after) this.body.append(...nodes);
      else put(this.body, nodes);
      if (this.rows.length > 0) this.rows[0].node.tabIndex = 0; // the rows' keys begin here
      put(this.told);
      const shown = this.at > 1 && this.rows.length > 0 ? `${count(this.at)} to ${count(this.at + this.rows.length - 1)}` : count(this.rows.length);
      put(this.caption, `${shown} of ${this.total} verdicts that match, ${isSorted ? `the least sure of the last ${count(SORTED)} first` : "newest first"}`);
      this.next = next;
      this.more.hidden = !next;
      this.jump.hidden = isSorted || (this.at === 1 && !next);
      this.none.hidden = this.body.childElementCount > 0;
      this.chosen();
      if (!after) say(plural(history.length, "verdict"));
    } catch (error) {
      put(this.told, failure(error));
    }
  }
}

export async function show(place, rest) {
  const {name, picker, none} = await choose("history", rest);
  if (name === null) return void put(place, none);
  const below = h("div");
  put(place, picker, below);
  const again = async () => {
    const info = await get(of(name));
    if (!isUsable(info)) return void put(below, h("p", {class: "notice bad"}, whyUnusable(info)));
    if (hasSeveral(info)) return void put(below, forOneLabel());
    if (!info.settings.history) return offer(below, info, again);
    await new List(below, info).load();
  };
  await again();
}
