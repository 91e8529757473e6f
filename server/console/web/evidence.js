// SPDX-License-Identifier: Apache-2.0
// What an explanation says of a document: by kind of feature, by word, and what would turn the verdict.

const STRUCTURE = ["mime", "html", "file", "shape", "word", "text"];
const ADDRESSES = ["from", "to", "cc", "bcc", "reply-to", "sender", "return-path", "delivered-to", "resent-from"];
const KINDS = {subject: "Subject", received: "Received", url: "Links", hidden: "Hidden words", case: "Capitals",
  pair: "Pairs of words", ngram: "Runs of letters", long: "Words"};

// The kind of a feature, by the beginning of its name (tokenizer/README.md); `fields`: the names of the model's fields.
export function kindOf(token, fields = []) {
  if (token === null) return "Before any word";
  const named = fields.find((name) => token === name || token.startsWith(`${name}=`) || token.startsWith(`${name}:`));
  if (named) return `Field ${named}`;
  const prefix = /^([a-z][a-z0-9-]*):./s.exec(token)?.[1];
  if (prefix === undefined) return "Words";
  if (KINDS[prefix]) return KINDS[prefix];
  if (STRUCTURE.includes(prefix)) return "Structure";
  return ADDRESSES.includes(prefix) ? "Addresses" : "Header fields";
}

// The sums of the evidence by kind, strongest first: [[kind, sum]]. They are all of the verdict's log-odds.
export function byKind(rows, fields) {
  const sums = new Map();
  for (const row of rows) {
    const kind = kindOf(row.token, fields);
    sums.set(kind, (sums.get(kind) ?? 0) + (row.evidence ?? 0));
  }
  return [...sums].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
}

// The log-odds of the winner against the runner-up, by the rows.
export const sum = (rows) => rows.reduce((all, row) => all + (row.evidence ?? 0), 0);

// What a second label would need: the fewest of the strongest features without which the runner-up would be as likely.
// Null: not even without all of them, or something is impossible.
export function turning(rows) {
  if (rows.some((row) => row.evidence === null)) return null;
  let left = sum(rows);
  const gone = [];
  for (const row of rows.filter((one) => one.token !== null && one.evidence > 0).sort((a, b) => b.evidence - a.evidence)) {
    if (left <= 0) break;
    left -= row.evidence;
    gone.push(row);
  }
  return left <= 0 ? gone : null;
}
