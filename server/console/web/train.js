// SPDX-License-Identifier: Apache-2.0
// Learns chosen or dropped files: their labels and columns, progress, results, and the undo of a run.

import {may} from "./access.js";
import {get, json, model as of} from "./api.js";
import {columnChoice, labelField} from "./columns.js";
import {toCsv} from "./csv.js";
import {download, failure, h, put, say, table} from "./dom.js";
import {dropPlace} from "./drop.js";
import {chosen, documentsOf, dropped, firstRows, kindOf, labelOfFolder} from "./files.js";
import {bytes, count, duration, number, plural} from "./format.js";
import {question} from "./model_labels.js";
import {agreeModel, choose, hasSeveral, labelList} from "./models.js";
import {askLabel, KnownLabels} from "./near_label.js";
import {address} from "./router.js";
import {Sender} from "./sender.js";

const ERRORS_SHOWN = 50, ROWS_SEEN = 20;
const KINDS = {mbox: "mbox", lines: "NDJSON file", table: "table", single: "document"};

// ---- choosing -----------------------------------------------------------------------------------

class Training {
  constructor(place, name, info) {
    Object.assign(this, {name, info, isSeveral: hasSeveral(info)});
    this.known = new KnownLabels(info?.labels); // and those of all that was learned in this view
    this.plan = h("div");
    this.progress = h("div");
    put(place, this.chooser(), this.plan, this.progress);
  }

  chooser() {
    const taken = (input) => {
      const entries = chosen(input);
      input.value = ""; // the same may be chosen again
      this.take(entries);
    };
    const files = h("input", {type: "file", id: "train-files", multiple: true, hidden: true, onchange: () => taken(files)});
    const folder = h("input", {type: "file", id: "train-folder", webkitdirectory: true, hidden: true, onchange: () => taken(folder)});
    const place = h("div", {class: "panel"}, h("p", null, "Drop files or folders here: mails (.eml), texts, mboxes, CSV or TSV, NDJSON. ",
      "The names of folders, such as spam and ham, can be the labels."),
    h("div", {class: "row"}, h("button", {type: "button", class: "main", onclick: () => files.click()}, "Choose files"),
      h("button", {type: "button", onclick: () => folder.click()}, "Choose a folder"), files, folder));
    return dropPlace(place, (transfer) => this.take(dropped(transfer)));
  }

  // Files, or a promise of them.
  async take(given) {
    if (this.isLearning) return void put(this.plan, h("p", {class: "notice warn", role: "alert"}, "Other files are being learned. Wait until they are done, or stop them, then drop these again."));
    try {
      const entries = (await given).filter((entry) => entry.file.size > 0 && !entry.file.name.startsWith("."));
      if (entries.length === 0) return void put(this.plan, h("p", {class: "notice warn", role: "alert"}, "All of these files are empty."));
      for (const entry of entries) entry.kind = await kindOf(entry.file);
      this.entries = entries;
      put(this.progress);
      await this.ask();
    } catch (error) {
      put(this.plan, failure(error));
    }
  }

  // Asks for what the files do not say: the label, the columns.
  async ask() {
    const first = this.entries.find((entry) => entry.kind === "table");
    const seen = first ? await firstRows(first.file, ROWS_SEEN) : [];
    const start = h("button", {type: "button", class: "main", onclick: () => this.start()}, "Learn them");
    const known = Object.keys(this.info?.labels ?? {});
    this.label = h("input", {list: this.isSeveral ? null : "known-labels", maxlength: this.isSeveral ? null : 64, id: "train-label", autocomplete: "off", oninput: () => check()});
    this.byFolder = h("input", {type: "checkbox", id: "by-folder", checked: this.haveFolders(), onchange: () => check()});
    const check = () => {
      const needs = this.entries.some((entry) => entry.kind !== "lines" && !(entry.kind === "table" && this.columns?.hasLabel()));
      const isNamed = this.label.value.trim() !== "" || (this.byFolder.checked && this.haveFolders());
      start.disabled = needs && !isNamed;
    };
    this.columns = seen.length > 0 ? columnChoice(seen, this.info?.settings?.fields ?? {}, this.isSeveral, check) : null;
    check();
    const labels = [...new Set(this.entries.map(labelOfFolder))].filter(Boolean).slice(0, 8).join(", ");
    const title = h("h2", {tabindex: -1}, "What will be learned");
    put(this.plan, h("section", {class: "panel"}, title, h("p", null, this.summary()),
      this.columns?.node ?? null,
      this.haveFolders() ? h("p", null, this.byFolder, " ", h("label", {for: "by-folder"}, `The label is the name of the folder: ${labels}`)) : null,
      labelField(this.label, this.isSeveral), labelList("known-labels", known), start));
    title.focus();
  }

  haveFolders() {
    return this.entries.every((entry) => labelOfFolder(entry) !== "");
  }

  summary() {
    const kinds = new Map();
    for (const {kind} of this.entries) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const size = this.entries.reduce((sum, entry) => sum + entry.file.size, 0);
    return `${[...kinds].map(([kind, n]) => plural(n, KINDS[kind], kind === "mbox" ? "mboxes" : undefined)).join(", ")}; ${bytes(size)}, for the model ${this.name}.`;
  }

  // ---- learning ---------------------------------------------------------------------------------

  async *documents() {
    const label = this.haveFolders() && this.byFolder.checked ? null : this.label.value.trim();
    const columns = this.columns?.read();
    const ask = (...labels) => this.askLabel(...labels);
    for (const entry of this.entries) {
      for await (const one of documentsOf(entry, {label, columns, isSeveral: this.isSeveral})) {
        const document = one.document ? await this.agreed(one.document, ask) : undefined;
        if (document === null) return void this.stop();
        yield {...one, document};
      }
    }
  }

  // The document with labels that were agreed on; null: with none of them. What is no list of labels is left to the daemon.
  async agreed(document, ask) {
    if (this.isSeveral && !Array.isArray(document.labels)) return document;
    const key = this.isSeveral ? "labels" : "label";
    const agreed = await (this.isSeveral ? this.known.agreeAll(document.labels, ask) : this.known.agree(document.label, ask));
    return agreed === null ? null : {...document, [key]: agreed};
  }

  // Documents of the label wait for the answer, and those behind them.
  async askLabel(label, old, documents, how) {
    if (this.sender.state === "stopped") return null;
    this.question = askLabel(this.asked, label, old, documents, how);
    const answer = await this.question.answer;
    this.question = null;
    return answer;
  }

  stop() {
    this.sender?.stop();
    this.question?.none();
  }

  async start() {
    const size = this.entries.reduce((sum, entry) => sum + entry.file.size, 0);
    const sender = this.sender = new Sender(this.name, this.documents(), size, () => this.draw());
    this.bar = h("progress", {max: 1, value: 0, "aria-label": "Progress"});
    this.told = h("p", {class: "told"});
    this.hold = h("button", {type: "button", onclick: () => (sender.state === "paused" ? sender.resume() : sender.pause())}, "Pause");
    this.halt = h("button", {type: "button", onclick: () => this.stop()}, "Stop");
    this.asked = h("div");
    this.summed = h("div");
    put(this.plan);
    const title = h("h2", {tabindex: -1}, "Learning");
    put(this.progress, h("section", {class: "panel"}, title, this.bar, this.told, h("div", {class: "row"}, this.hold, this.halt), this.asked, this.summed));
    title.focus();
    this.isLearning = true;
    try {
      await sender.run();
    } catch (error) {
      sender.stop();
      this.draw();
      this.summed.prepend(failure(error));
    } finally {
      this.isLearning = false;
    }
  }

  draw() {
    const {sender} = this;
    const isOver = sender.state === "over" || sender.state === "stopped";
    this.bar.value = sender.state === "over" ? 1 : Math.min(1, sender.bytes / Math.max(1, sender.totalBytes));
    const left = isOver ? "" : `, ${duration(sender.secondsLeft)} left`;
    this.told.textContent = `${plural(sender.done, "document")}, ${number(sender.rate)} a second${left}.${sender.state !== "paused" ? "" : sender.isResting ? " Paused." : " It pauses after these."}`;
    this.hold.textContent = sender.state === "paused" ? "Go on" : "Pause";
    this.hold.hidden = this.halt.hidden = isOver;
    if (!isOver) return;
    put(this.plan); // it may say that something must wait
    this.finish();
  }

  finish() {
    const {sender} = this;
    const rows = Object.entries(sender.counts).map(([status, n]) => [status.replace("_", " "), count(n)]);
    const save = () => download("errors.csv", toCsv([["file", "document", "error"], ...sender.errors]), "text/csv");
    put(this.summed, h("h3", null, sender.state === "over" ? "Done" : "Stopped"),
      sender.state === "stopped" ? h("p", null, "The documents learned so far stay. A second run over the same files goes on from there.") : null,
      rows.length > 0 ? table("Result", [{name: "Status"}, {name: "Documents", number: true}], rows) : null,
      sender.errors.length > 0 ? [
        table("Errors", [{name: "File"}, {name: "Document", number: true}, {name: "Error"}],
          sender.errors.slice(0, ERRORS_SHOWN).map(([path, place, why]) => [path, String(place), why])),
        h("p", null, h("button", {type: "button", onclick: save}, sender.errors.length === 1 ? "Save the error as CSV" : `Save all ${count(sender.errors.length)} errors as CSV`))] : null,
      sender.taught > 0 && may("admin") ? h("p", null, h("button", {type: "button", onclick: () => this.askUndo(sender)}, "Undo this run")) : null,
      h("p", null, h("a", {href: address("try", this.name)}, `Try ${this.name}`)));
    say(`${sender.state === "over" ? "Done" : "Stopped"}: ${this.told.textContent}`);
  }

  askUndo(sender) {
    question(`Take back the ${plural(sender.taught, "document")} that this run has learned or changed?`, "Undo this run", () => this.undo(sender));
  }

  async undo({source}) {
    try {
      const {documents} = await json("POST", of(this.name, ["undo"]), {source});
      put(this.summed, h("p", {class: "notice good"}, `${plural(documents, "document")} taken back.`));
      say("Taken back.");
    } catch (error) {
      this.summed.prepend(failure(error));
    }
  }
}

// ---- the view -----------------------------------------------------------------------------------

// Null: there is none of this name.
async function modelOf(name) {
  try {
    return await get(of(name));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

export async function show(place, rest) {
  const {name, names, hasMore, picker} = await choose("train", rest, {canBeNew: true, newName: "mail"});
  const hint = h("p", {class: "hint"}, "A new name makes a new model, with its first document.");
  const info = names.includes(name) || hasMore ? await modelOf(name) : null;
  const work = h("div");
  let training = null;
  const begin = () => {
    training = new Training(work, name, info);
  };
  put(place, picker, hint, work);
  if (info) begin();
  else agreeModel(work, name).then((agreed) => {
    if (agreed === name) begin();
    else if (agreed !== null) location.hash = address("train", agreed);
  }, (error) => put(work, failure(error)));
  return () => training?.stop();
}
