// SPDX-License-Identifier: Apache-2.0
// Files as labelled documents: mbox, NDJSON, CSV, mails and texts. A document is {bytes: how much of the file it took,
// place: which one of the file it is, document: what is sent, or error: why nothing is}.

import {CsvReader, separatorOf, withoutSeparatorLine} from "./csv.js";
import {looksLikeMail} from "./mail.js";
import {splitLabels} from "./near_label.js";

const PIECE = 1 << 20; // bytes that are read at a time
const BEGIN = 4096; // bytes that tell how lines end
const MAIL_MOST = 32 << 20;

export const labelOfFolder = (entry) => entry.path.split("/").slice(0, -1).at(-1) ?? "";

async function* pieces(file) {
  for (let at = 0; at < file.size; at += PIECE) yield new Uint8Array(await file.slice(at, at + PIECE).arrayBuffer());
}

// The encoding of a text or a table, by the rules of the daemon (tokenizer/decode.h): its byte order mark,
// UTF-8 where all of it is that, else windows-1252.
export async function encodingOfText(file) {
  const marked = encodingOf(new Uint8Array(await file.slice(0, 2).arrayBuffer()));
  if (marked !== "utf-8") return marked;
  const decoder = new TextDecoder("utf-8", {fatal: true});
  try {
    for await (const bytes of pieces(file)) decoder.decode(bytes, {stream: true});
    decoder.decode();
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

async function* texts(file) {
  const decoder = new TextDecoder(await encodingOfText(file));
  for await (const bytes of pieces(file)) yield decoder.decode(bytes, {stream: true});
  yield decoder.decode();
}

// "mbox", "lines", "table" or "single": tables and lines by the name, an mbox by its beginning.
export async function kindOf(file) {
  if (/\.(csv|tsv)$/i.test(file.name)) return "table";
  if (/\.(ndjson|jsonl)$/i.test(file.name)) return "lines";
  const begin = new Uint8Array(await file.slice(0, 32).arrayBuffer());
  return new TextDecoder(encodingOf(begin)).decode(begin).startsWith("From ") ? "mbox" : "single";
}

export function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

// Control characters that texts do not have: neither white space nor backspace, nor a shift or an escape of ISO 2022.
const isStray = (byte) => byte < 8 || (byte > 15 && byte < 32 && byte !== 27) || byte === 127;

// Why bytes that are no mail are no text either; null: they are. The rule is that of bayesc.
export function whyNoText(bytes) {
  let stray = 0;
  for (const byte of bytes) if (isStray(byte)) stray++;
  return stray * 16 > bytes.length ? "it is binary, neither a text nor a mail" : null;
}

// The name of the encoding by the byte order mark, as a TextDecoder takes it.
export const encodingOf = (bytes) => (bytes[0] === 255 && bytes[1] === 254 ? "utf-16le" : bytes[0] === 254 && bytes[1] === 255 ? "utf-16be" : "utf-8");

async function mailOrText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer()), encoding = await encodingOfText(file);
  const text = new TextDecoder(encoding).decode(bytes);
  if (looksLikeMail(text)) return {document: {mail_base64: base64(bytes)}};
  const error = encoding.startsWith("utf-16") ? null : whyNoText(bytes);
  return error ? {error} : {document: {text}};
}

// ---- the kinds ----------------------------------------------------------------------------------

async function* single(file) {
  if (file.size > MAIL_MOST) yield {bytes: file.size, error: "the file is too long to be one document"};
  else yield {bytes: file.size, ...await mailOrText(file)};
}

const FROM = [70, 114, 111, 109, 32]; // "From "
const isFrom = (bytes, at) => FROM.every((byte, i) => bytes[at + i] === byte);

// Where a mail of an mbox begins in these bytes, from `from` on: "From " behind an empty line; -1: nowhere. The rules
// are those of the daemon (tokenizer/mail_file.h).
function nextMail(bytes, from) {
  for (let i = bytes.indexOf(10, from); i >= 0; i = bytes.indexOf(10, i + 1)) {
    const isBlank = bytes[i - 1] === 10 || (bytes[i - 1] === 13 && bytes[i - 2] === 10);
    if (isBlank && isFrom(bytes, i + 1)) return i + 1;
  }
  return -1;
}

// A file in pieces of lines that end with LF or CR LF, as the daemon reads the files of mails (tokenizer/mail_file.h):
// without a byte order mark, UTF-16 as UTF-8, and CR as LF if the beginning has no LF.
async function* linePieces(file) {
  const begin = new Uint8Array(await file.slice(0, BEGIN).arrayBuffer()), encoding = encodingOf(begin);
  const text = new TextDecoder(encoding).decode(begin), isCr = text.includes("\r") && !text.includes("\n");
  const decoder = new TextDecoder(encoding), encoder = new TextEncoder();
  const hasMark = begin[0] === 0xEF && begin[1] === 0xBB && begin[2] === 0xBF;
  let isFirst = true;
  for await (const piece of pieces(file)) {
    let bytes = encoding === "utf-8" ? piece : encoder.encode(decoder.decode(piece, {stream: true}));
    if (isFirst && hasMark) bytes = bytes.subarray(3);
    isFirst = false;
    yield isCr ? bytes.map((byte) => (byte === 13 ? 10 : byte)) : bytes;
  }
}

function join(a, b) {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

// Without the ">" that mboxrd puts before a line of "From ", with any number of ">" before it.
function unquoted(bytes) {
  const out = new Uint8Array(bytes.length);
  let length = 0, isBegin = true;
  for (let i = 0; i < bytes.length; i++) {
    let from = i;
    while (isBegin && bytes[from] === 62) from++;
    if (from === i || !isFrom(bytes, from)) out[length++] = bytes[i];
    isBegin = bytes[i] === 10;
  }
  return out.subarray(0, length);
}

// The line "From " before a mail and the empty line behind it are of the mbox (RFC 4155).
function mailOf(bytes) {
  const line = isFrom(bytes, 0) ? bytes.indexOf(10) + 1 : 0;
  const end = bytes.at(-2) === 13 ? 3 : 2;
  const isEmpty = bytes.at(-1) === 10 && bytes.at(-end) === 10;
  return unquoted(bytes.subarray(line, isEmpty ? bytes.length + 1 - end : bytes.length));
}

async function* mbox(file) {
  let rest = new Uint8Array(0);
  for await (const piece of linePieces(file)) {
    let from = Math.max(0, rest.length - 8); // "\n\r\nFrom " may lie across the two
    rest = join(rest, piece);
    for (let end = nextMail(rest, from); end >= 0; end = nextMail(rest, from)) {
      yield {bytes: end, document: {mail_base64: base64(mailOf(rest.subarray(0, end)))}};
      rest = rest.subarray(end);
      from = 0;
    }
    if (rest.length > MAIL_MOST) throw new Error(`${file.name} is no mbox: a mail of it does not end`);
  }
  if (rest.length > 0) yield {bytes: rest.length, document: {mail_base64: base64(mailOf(rest))}};
}

function lineDocument(line) {
  try {
    const document = JSON.parse(line);
    return document && typeof document === "object" && !Array.isArray(document) ? {document} : {error: "the line is no JSON object"};
  } catch {
    return {error: "the line is not JSON"};
  }
}

async function* lines(file) {
  let rest = "";
  for await (const text of texts(file)) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    for (const line of parts) if (line.trim()) yield {bytes: line.length + 1, ...lineDocument(line)};
  }
  if (rest.trim()) yield {bytes: rest.length, ...lineDocument(rest)};
}

// Rows as documents, as the choice of columns says (columns.js).
async function* rows(file, {hasHeader, toDocument}) {
  let reader = null, place = 0;
  const done = function* (found, bytes) {
    for (const row of found) if (place++ > 0 || !hasHeader) yield {bytes: bytes / Math.max(1, found.length), ...toDocument(row, reader.separator)};
  };
  for await (const piece of texts(file)) {
    const text = reader ? piece : withoutSeparatorLine(piece);
    reader ??= new CsvReader(separatorOf(piece));
    yield* done(reader.push(text), piece.length);
  }
  if (reader?.isOpen) yield {bytes: 0, error: "a quote of this row is never closed"};
  else if (reader) yield* done(reader.end(), 0);
}

// The first rows of a table, to see what its columns are.
export async function firstRows(file, most) {
  const text = new TextDecoder(await encodingOfText(file)).decode(await file.slice(0, 256 << 10).arrayBuffer());
  return new CsvReader(separatorOf(text)).push(withoutSeparatorLine(text)).slice(0, most);
}

// A document with its own label or labels, or with those of the text `label`; {document} or {error}.
function labelled(document, label, isSeveral) {
  if (isSeveral && (document.labels || document.label !== undefined)) return {document};
  const own = isSeveral ? {labels: splitLabels(label)} : {label: document.label ?? label};
  return own.label || own.labels?.length > 0 ? {document: {...document, ...own}} : {error: "it has no label"};
}

// The documents of a file {file, path, kind}; labels are put to those that bring none.
export async function* documentsOf(entry, {label, columns, isSeveral}) {
  const readers = {single, mbox, lines, table: (file) => rows(file, columns)};
  let place = 0;
  for await (const one of readers[entry.kind](entry.file)) {
    place++;
    const told = one.error ? {error: one.error} : labelled(one.document, label ?? labelOfFolder(entry), isSeveral);
    yield {bytes: one.bytes, path: entry.path, place, ...told};
  }
}

// ---- what was dropped ---------------------------------------------------------------------------

const all = (reader) => new Promise((resolve, reject) => reader.readEntries(resolve, reject));

async function* walk(entry, path) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    yield {file, path: path + entry.name};
    return;
  }
  const reader = entry.createReader();
  for (let some = await all(reader); some.length > 0; some = await all(reader)) {
    for (const one of some) yield* walk(one, `${path}${entry.name}/`);
  }
}

// [{file, path}] of what was dropped, folders too.
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({file, path: file.name}));
  const found = [];
  for (const entry of entries) for await (const one of walk(entry, "")) found.push(one);
  return found;
}

export const chosen = (input) => [...input.files].map((file) => ({file, path: file.webkitRelativePath || file.name}));
