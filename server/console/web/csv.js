// SPDX-License-Identifier: Apache-2.0
// CSV and TSV (RFC 4180), as they come piece by piece.

// A spreadsheet may say the separator in a line of its own in front of the table.
const SEPARATOR_LINE = /^"?sep=(.)"?(?:\r\n|\r|\n)/i;
export const withoutSeparatorLine = (text) => text.replace(SEPARATOR_LINE, "");

// The separator of a text, by that line, or by its first line: the one that is there most, outside quotes.
export function separatorOf(text) {
  const said = SEPARATOR_LINE.exec(text);
  if (said) return said[1];
  const line = text.split(/\r\n|\r|\n/, 1)[0].replace(/"(?:[^"]|"")*"/g, "");
  const counts = ["\t", ";", ","].map((c) => [line.split(c).length - 1, c]);
  counts.sort((a, b) => b[0] - a[0]);
  return counts[0][0] > 0 ? counts[0][1] : ",";
}

export class CsvReader {
  constructor(separator) {
    this.separator = separator;
    this.row = [];
    this.cell = "";
    this.state = "start"; // of a cell; then "plain", "quoted", or "after" its closing quote
    this.wasReturn = false;
  }

  endCell() {
    this.row.push(this.cell);
    this.cell = "";
    this.state = "start";
  }

  endRow(rows) {
    this.endCell();
    if (this.row.length > 1 || this.row[0] !== "") rows.push(this.row); // an empty line is no row
    this.row = [];
  }

  // The rows that these characters complete.
  push(text) {
    const rows = [];
    for (const c of text) {
      const isEnd = this.state !== "quoted" && (c === "\n" || c === "\r");
      if (this.state === "quoted" && c !== '"') this.cell += c;
      else if (this.state === "quoted") this.state = "after";
      else if (c === '"' && this.state === "start") this.state = "quoted";
      else if (c === '"' && this.state === "after") this.cell += c, this.state = "quoted"; // "" is one
      else if (isEnd) {
        if (!(c === "\n" && this.wasReturn)) this.endRow(rows);
      } else if (c === this.separator) this.endCell();
      else this.cell += c, this.state = "plain";
      this.wasReturn = isEnd && c === "\r";
    }
    return rows;
  }

  // Whether what was read ends within quotes: then the last row is not what anybody has written.
  get isOpen() {
    return this.state === "quoted";
  }

  // The last row, if no line end closed it.
  end() {
    const rows = [];
    if (this.row.length > 0 || this.cell !== "" || this.state !== "start") this.endRow(rows);
    return rows;
  }
}

const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

export const toCsv = (rows) => rows.map((row) => row.map((cell) => quoted(String(cell ?? ""))).join(",") + "\r\n").join("");
