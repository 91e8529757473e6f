// SPDX-License-Identifier: Apache-2.0
// Reads the text of /metrics (Prometheus, format 0.0.4).

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES = {n: "\n", "\\": "\\", '"': '"'};

function labelsOf(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(LABEL)) labels[name] = value.replace(/\\(.)/g, (_, c) => ESCAPES[c] ?? c);
  return labels;
}

// {name: [{labels, value}]}
export function parse(text) {
  const families = {};
  for (const line of text.split("\n")) {
    const found = line[0] === "#" ? null : SAMPLE.exec(line);
    if (found) (families[found[1]] ??= []).push({labels: labelsOf(found[2] ?? ""), value: Number(found[3])});
  }
  return families;
}

// The sum of the samples of a name whose labels are these; 0 when there is none.
export function total(families, name, labels = {}) {
  const fits = (sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
  return (families[name] ?? []).filter(fits).reduce((sum, sample) => sum + sample.value, 0);
}
