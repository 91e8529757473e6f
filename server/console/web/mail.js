// SPDX-License-Identifier: Apache-2.0
// The readable text of a mail, to show its evidence in: Subject, From, To and the text parts. What a verdict is made
// of is read by the daemon; this is for the eye alone, and leaves out what it does not understand. HTML is cut down
// to its text here, by characters: no parser of markup ever sees it.

const PARTS_MOST = 20, DEPTH_MOST = 5, TEXT_MOST = 100000, READ_MOST = 2 << 20;

const binary = (bytes) => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return text;
};
const bytesOf = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0) & 255);

function decodeCharset(text, charset) {
  try {
    return new TextDecoder(charset || "utf-8").decode(bytesOf(text));
  } catch {
    return new TextDecoder("windows-1252").decode(bytesOf(text));
  }
}

function fromBase64(text) {
  try {
    return atob(text.replace(/[^A-Za-z0-9+/]/g, ""));
  } catch {
    return "";
  }
}

const fromQuoted = (text) => text.replace(/=\r?\n/g, "")
  .replace(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));

// RFC 2047: =?utf-8?Q?...?= in a header field.
function decodeWords(value) {
  const text = value.replace(/(\?=)\s+(=\?)/g, "$1$2");
  return text.replace(/=\?([^?*]+)[^?]*\?([bBqQ])\?([^?]*)\?=/g, (_, charset, coding, word) =>
    decodeCharset(coding.toLowerCase() === "b" ? fromBase64(word) : fromQuoted(word.replaceAll("_", " ")), charset));
}

// {fields: {name: value}, body}
function split(text) {
  const end = /\r?\n\r?\n/.exec(text);
  const head = end ? text.slice(0, end.index) : text;
  const fields = {};
  for (const line of head.replace(/\r?\n[ \t]+/g, " ").split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon).toLowerCase()] ??= line.slice(colon + 1).trim();
  }
  return {fields, body: end ? text.slice(end.index + end[0].length) : ""};
}

const ENTITIES = {amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " "};

function textOfHtml(html) {
  return html.replace(/<!--[\s\S]*?-->/g, " ").replace(/<(script|style)\b[\s\S]*?<\/\1\s*>/gi, " ")
    .replace(/<(?:br|p|div|tr|li|h\d)\b[^>]*>/gi, "\n").replace(/<[^>]*>/g, "")
    .replace(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (all, name) => {
      if (name[0] !== "#") return ENTITIES[name.toLowerCase()] ?? all;
      const code = name[1].toLowerCase() === "x" ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
      return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : "";
    }).replace(/[ \t]+/g, " ").replace(/\n\s*\n\s*/g, "\n\n").trim();
}

function parameter(value, name) {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^;\\s]+))`, "i").exec(value);
  return found?.[1] ?? found?.[2] ?? "";
}

function textsOf(part, depth, out) {
  const type = part.fields["content-type"] ?? "text/plain";
  const media = type.split(";")[0].trim().toLowerCase();
  const boundary = parameter(type, "boundary");
  if (out.length >= PARTS_MOST || depth > DEPTH_MOST) return;
  if (media.startsWith("multipart/") && boundary) {
    const inner = `\n${part.body}`.split(`\n--${boundary}`).slice(1).filter((one) => !one.startsWith("--"));
    for (const one of inner) textsOf(split(one.replace(/^[^\n]*\n/, "")), depth + 1, out);
  } else if (media.startsWith("text/")) {
    const coding = (part.fields["content-transfer-encoding"] ?? "").toLowerCase();
    const plain = coding === "base64" ? fromBase64(part.body) : coding === "quoted-printable" ? fromQuoted(part.body) : part.body;
    const text = decodeCharset(plain, parameter(type, "charset"));
    out.push(media === "text/html" ? textOfHtml(text) : text);
  }
}

// What may stand before the header of a mail in a file: blanks, an mbox's line, what servers and their clients say. The
// daemon searches for the header itself, and takes a line of anything as well (tokenizer/mail_file.c).
const BEFORE = /^(?:[\s\uFEFF]*|>?From .*|[2-5]\d\d(?:[ -].*)?|\+OK.*|(?:EHLO|HELO|LHLO|RETR|TOP) .*|(?:MAIL FROM|RCPT TO):.*|DATA|\.)\r?$/i;

// The text from its header on; as it is when none follows such lines.
function fromHeader(text) {
  let at = 0;
  for (let i = 0; i < 64 && at < text.length; i++) {
    const end = text.indexOf("\n", at), next = end < 0 ? text.length : end + 1;
    if (!BEFORE.test(text.slice(at, end < 0 ? next : end))) break;
    at = next;
  }
  return text.slice(at).replace(/^[ \t\u00A0\uFEFF]+/, "");
}

// Whether bytes or a text look like a mail: header fields that only mails have, before the first empty line.
export function looksLikeMail(text) {
  const head = fromHeader(text.slice(0, 65536).replace(/\r(?!\n)/g, "\n"));
  return /^[!-9;-~]+:/.test(head) && /^(?:received|from|message-id|mime-version|return-path):/im.test(head.split(/\r?\n\r?\n/, 1)[0]);
}

// {from, to, subject, text} of the bytes of a mail.
export function readMail(bytes) {
  const mail = split(fromHeader(binary(bytes.subarray(0, READ_MOST)).replace(/^\u00EF\u00BB\u00BF/, "")));
  const texts = [];
  textsOf(mail, 0, texts);
  const header = (name) => decodeWords(decodeCharset(mail.fields[name] ?? "", "utf-8"));
  return {from: header("from"), to: header("to"), subject: header("subject"), text: texts.join("\n\n").slice(0, TEXT_MOST)};
}
