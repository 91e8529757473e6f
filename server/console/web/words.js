// SPDX-License-Identifier: Apache-2.0
// Puts evidence to the words of a text: what the features say in which a word takes part. Of a pair each word has
// half; of a run of letters each letter its part. Repeated features share their evidence evenly.

const WORD = /[\p{L}\p{N}\p{M}_]+(?:['’.,][\p{L}\p{N}\p{M}_]+)*|([^\s\p{L}\p{N}\p{M}_])\1*/gu;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Hangul}]/u;
const RUN = 5; // characters of a feature "ngram:"

export const fold = (text) => text.normalize("NFKC").toLowerCase().replaceAll("’", "'");

// {name: evidence of one occurrence}
function perOccurrence(rows) {
  const each = new Map();
  for (const row of rows) if (row.token !== null) each.set(row.token, (row.evidence ?? 0) / row.count);
  return each;
}

// The pieces of a text: words and what stands between them, {text, isWord}.
function pieces(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(WORD)) {
    if (match.index > at) found.push({text: text.slice(at, match.index), isWord: false});
    found.push({text: match[0], isWord: true, own: 0, pairs: 0, letters: 0, capitals: 0});
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({text: text.slice(at), isWord: false});
  return found;
}

function addWords(words, each, prefix) {
  let before = null;
  for (const word of words) {
    const folded = fold(word.text);
    word.own += each.get(prefix + folded) ?? unspaced(folded, each, prefix);
    word.capitals += each.get(`case:${word.text}`) ?? 0;
    if (!/[\p{L}\p{N}]/u.test(folded)) continue; // a mark parts no pair
    const pair = before === null ? 0 : each.get(`pair:${fold(before.text)} ${folded}`) ?? 0;
    if (pair !== 0) {
      before.pairs += pair / 2;
      word.pairs += pair / 2;
    }
    before = word;
  }
}

// Scripts without spaces: the pairs of their characters.
function unspaced(folded, each, prefix) {
  if (!UNSPACED.test(folded)) return 0;
  const characters = [...folded];
  let all = 0;
  for (let i = 0; i + 1 < characters.length; i++) all += each.get(prefix + characters[i] + characters[i + 1]) ?? 0;
  return all;
}

function addRuns(parts, each) {
  const characters = [], owners = []; // the folded text, and which word each character is of
  for (const part of parts) {
    if (part.isWord) for (const c of fold(part.text)) characters.push(c), owners.push(part);
    else if (characters.at(-1) !== " ") characters.push(" "), owners.push(null);
  }
  for (let i = 0; i + RUN <= characters.length; i++) {
    const evidence = each.get(`ngram:${characters.slice(i, i + RUN).join("")}`);
    if (!evidence) continue;
    const members = owners.slice(i, i + RUN).filter((owner) => owner !== null);
    for (const owner of members) owner.letters += evidence / members.length;
  }
}

// The pieces of a text with what the explanation says of them. prefix: "" or "subject:".
export function coloured(text, rows, prefix = "") {
  const each = perOccurrence(rows);
  const parts = pieces(text);
  addWords(parts.filter((part) => part.isWord), each, prefix);
  addRuns(parts, each);
  for (const part of parts) part.total = part.isWord ? part.own + part.pairs + part.letters + part.capitals : 0;
  return parts;
}
