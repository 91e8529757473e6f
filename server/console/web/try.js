// SPDX-License-Identifier: Apache-2.0
// Classifies a text or a mail, shows why, and teaches the right label.

import {may} from "./access.js";
import {document as ask, get, model as of} from "./api.js";
import {failure, field, h, put, say} from "./dom.js";
import {dropPlace} from "./drop.js";
import {bytes as size, count} from "./format.js";
import {fieldInputs} from "./field_values.js";
import {base64, encodingOfText, whyNoText} from "./files.js";
import {looksLikeMail, readMail} from "./mail.js";
import {choose, hasSeveral, labelList, labelsOf} from "./models.js";
import {askLabel, KnownLabels, labelsText, splitLabels} from "./near_label.js";
import {change, explainedChoice, headline, kinds, strongest, summary, textWithEvidence} from "./verdict.js";

const EXPLAIN = 10000;
const LABELS_MOST = 12; // with more, the others are typed
const SHOWN_MOST = 256 << 10; // characters in the field: a browser takes seconds to lay out more

// A document with values of fields, or with several labels, is JSON: its labels and its id are members of it, too.
function asJson({body, type, sections}, values) {
  const isMail = type === "message/rfc822";
  const text = typeof body === "string" ? body : new TextDecoder("utf-8").decode(body);
  const content = isMail ? {mail_base64: base64(body)} : text === "" && values ? {} : {text};
  return {json: {...content, values}, type: "application/json", sections};
}

// What is to be sent, and the texts to show it by. `given`: {text} that was pasted, or {bytes} of a file.
function documentOf(given) {
  const text = given.text ?? new TextDecoder("utf-8").decode(given.bytes);
  if (!looksLikeMail(text)) {
    const body = given.bytes ?? text;
    return {body, type: "text/plain", sections: [{name: "", text, prefix: ""}]};
  }
  const bytes = given.bytes ?? new TextEncoder().encode(text);
  const mail = readMail(bytes);
  return {body: bytes, type: "message/rfc822", sections: [{name: "From", text: mail.from, prefix: "from:"},
    {name: "To", text: mail.to, prefix: "to:"}, {name: "Subject", text: mail.subject, prefix: "subject:"}, {name: "", text: mail.text, prefix: ""}]};
}

// ---- teaching -----------------------------------------------------------------------------------

const SAID = {learned: "Learned", unchanged: "Known with this label already", relabelled: "Relabelled",
  updated: "Its content had changed; learned again as", near_duplicate: "Not learned: enough near-duplicates are",
  quarantined: "Waits in the quarantine for an administrator", stored: "Stored",
  queued: "The other nodes cannot be reached; kept, and learned later as"};

function receiptText(receipt, before, after) {
  const known = Object.entries(receipt.labels ?? {}).map(([label, {documents}]) => `${label} ${count(documents)}`).join(", ");
  const verdicts = before ? ` Before: ${headline(before)}. Now: ${headline(after)}.` : ` Now: ${headline(after)}.`;
  const learned = receipt.document_labels ? labelsText(receipt.document_labels) : receipt.label ?? "";
  return `${SAID[receipt.status] ?? receipt.status}: ${learned}.${known ? ` Documents: ${known}.` : ""}${verdicts}`;
}

// ---- the view -----------------------------------------------------------------------------------

class Trial {
  constructor(place, name, info) {
    this.name = name;
    this.info = info;
    this.isSeveral = hasSeveral(info);
    this.fields = Object.keys(info?.settings?.fields ?? {});
    this.given = this.long = null;
    this.result = h("div", {class: "result"});
    this.opened = h("p", {class: "hint"}); // a file that is too long for the field
    this.text = h("textarea", {rows: 7, dir: "auto", spellcheck: "false", placeholder: "A text, or a whole mail with its header"});
    this.file = h("input", {type: "file", id: "try-file", hidden: true, onchange: () => this.take(this.file.files[0])});
    this.values = fieldInputs(info?.settings?.fields ?? {});
    put(place, this.form(), this.result);
  }

  form() {
    const classify = (event) => {
      event.preventDefault();
      if (this.text.value !== "") this.close();
      this.run(this.long ?? {text: this.text.value});
    };
    const onkeydown = (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) classify(event);
    };
    this.text.addEventListener("keydown", onkeydown);
    this.text.addEventListener("paste", (event) => {
      const text = event.clipboardData.getData("text/plain");
      if (text.length <= SHOWN_MOST) return;
      event.preventDefault();
      this.take(new File([text], "A long text"));
    });
    const drop = (transfer) => {
      const file = transfer.files[0], text = transfer.getData("text/plain");
      if (file) this.take(file);
      else if (text.length > SHOWN_MOST) this.take(new File([text], "A long text"));
      else this.text.value = text;
    };
    return dropPlace(h("form", {class: "panel", onsubmit: classify},
      field("Text or mail", this.text, "Paste it, or drop a text or .eml file here. Classifying teaches nothing."),
      this.values.node, this.opened, h("div", {class: "row"}, h("button", {class: "main", type: "submit"}, "Classify"),
        h("button", {type: "button", onclick: () => this.file.click()}, "Open a file"), this.file)), drop);
  }

  async take(file) {
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer()), encoding = await encodingOfText(file);
    const text = new TextDecoder(encoding).decode(bytes), isLong = bytes.length > SHOWN_MOST;
    const why = looksLikeMail(text) || encoding.startsWith("utf-16") ? null : whyNoText(bytes);
    this.text.value = isLong || why ? "" : text;
    this.close();
    this.file.value = "";
    if (why) return void put(this.result, failure(new Error(`${file.name}: ${why}.`)));
    if (isLong) put(this.opened, `${file.name}, ${size(bytes.length)}`);
    this.long = isLong ? {bytes} : null;
    this.run({bytes});
  }

  // Forgets a file that was too long for the field.
  close() {
    this.long = null;
    put(this.opened);
  }

  async run(given) {
    try {
      const values = this.values.read();
      const document = documentOf(given);
      this.given = values || this.isSeveral ? asJson(document, values ?? undefined) : document;
      if (labelsOf(this.info).length === 0 && !this.info.settings.parent) this.showFirst();
      else this.show(await this.classify());
    } catch (error) {
      if (error.status === 409) this.showFirst();
      else put(this.result, failure(error));
    }
  }

  showFirst() {
    put(this.result, h("p", {class: "notice"}, may("train") ? "The model has learned nothing yet. Teach it this document:" : "The model has learned nothing yet."), this.teaching(null));
  }

  classify(explained) {
    return this.send("classify", {}, {explain: EXPLAIN, word_counts: 1, explain_label: explained});
  }

  // `members`: label or labels, and id, of the document or of the query.
  send(what, members, query) {
    const {json} = this.given;
    return ask(of(this.name, [what], json ? query : {...members, ...query}), json ? {...this.given, body: JSON.stringify({...json, ...members})} : this.given);
  }

  // `note` is said above it, with what follows it (`more`).
  show(verdict, note, more) {
    const title = h("h2", {tabindex: -1}, "Verdict");
    const reasons = h("div"), words = h("div", {class: "panel"});
    const explain = (by) => {
      put(reasons, kinds(by, this.fields), change(by));
      put(words, textWithEvidence(by, this.given.sections), strongest(by, this.fields));
    };
    let wanted = verdict.explained;
    const choice = wanted === undefined ? null : explainedChoice(verdict, async (label) => {
      wanted = label;
      try {
        const by = await this.classify(label);
        if (label === wanted) explain(by);
      } catch (error) {
        put(reasons, failure(error));
      }
    });
    put(this.result, title, note ? h("p", {class: "notice good"}, note, " ", more ?? null) : null, h("div", {class: "columns"},
      h("section", {class: "panel"}, summary(verdict), this.teaching(verdict)),
      h("section", {class: "panel"}, choice, reasons)), words);
    explain(verdict);
    say(note ?? `Verdict: ${headline(verdict)}`);
    title.focus({preventScroll: Boolean(note)});
  }

  teaching(verdict) {
    if (!may("train")) return null;
    if (this.isSeveral) return this.teachingSeveral(verdict);
    const labels = labelsOf(this.info).map(([label]) => label);
    const chance = (label) => verdict?.probabilities?.[label] ?? 0;
    if (labels.length > LABELS_MOST) labels.sort((a, b) => chance(b) - chance(a)); // few keep their places
    const shown = labels.slice(0, LABELS_MOST);
    const other = h("input", {name: "label", maxlength: 64, list: "other-labels", autocomplete: "off"});
    const asked = h("div");
    const teachOther = async (event) => {
      event.preventDefault();
      const known = new KnownLabels(this.info?.labels);
      const label = await known.agree(other.value, (...labels) => askLabel(asked, ...labels).answer);
      if (label) this.teach({label}, verdict);
    };
    return h("section", {class: "teach"}, h("h3", null, "Right label"),
      h("div", {class: "row"}, shown.map((label) => h("button", {type: "button", onclick: () => this.teach({label}, verdict)}, label))),
      labelList("other-labels", labels.slice(LABELS_MOST)),
      h("form", {class: "row", onsubmit: teachOther}, field("Another label", other), h("button", {type: "submit"}, "Teach")), asked);
  }

  // The field begins with what the model says, to be put right.
  teachingSeveral(verdict) {
    const input = h("input", {name: "labels", class: "wide", autocomplete: "off", value: (verdict?.labels ?? []).join("; ")});
    const asked = h("div");
    const teach = async (event) => {
      event.preventDefault();
      const labels = await new KnownLabels(this.info.labels).agreeAll(splitLabels(input.value), (...labels) => askLabel(asked, ...labels).answer);
      if (labels) this.teach({labels}, verdict);
    };
    return h("form", {class: "teach", onsubmit: teach}, h("h3", null, "Right labels"),
      field("Labels", input, "Separated by \";\"; empty if it has none of them."), h("button", {type: "submit"}, "Teach"), asked);
  }

  // `labels`: {label} or {labels}.
  async teach(labels, before) {
    try {
      const receipt = await this.send("train", labels, {});
      this.info = await get(of(this.name));
      const after = await this.classify();
      this.show(after, receiptText(receipt, before, after), ["learned", "relabelled"].includes(receipt.status)
        ? h("button", {class: "quiet", type: "button", onclick: () => this.takeBack(receipt)}, "Take it back") : null);
    } catch (error) {
      this.result.prepend(failure(error));
    }
  }

  async takeBack(receipt) {
    try {
      const {previous_label: label, previous_labels: labels} = receipt;
      const before = labels ? labelsText(labels) : label;
      if (before) await this.send("train", {label, labels, id: receipt.id}, {});
      else await ask(of(this.name, ["untrain"]), {body: JSON.stringify({id: receipt.id}), type: "application/json"});
      this.info = await get(of(this.name));
      this.show(await this.classify(), before ? `Taken back: it is ${before} again.` : "Taken back.");
    } catch (error) {
      this.result.prepend(failure(error));
    }
  }
}

export async function show(place, rest) {
  const {name, picker, none} = await choose("try", rest);
  if (name === null) return void put(place, none);
  const trial = h("div");
  put(place, picker, trial);
  new Trial(trial, name, await get(of(name)));
}
