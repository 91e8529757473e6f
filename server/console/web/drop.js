// SPDX-License-Identifier: Apache-2.0
// Places where files may be dropped. Dropped beside them a file does nothing: the browser would show it in the place of
// this page, and what was typed here would be gone.

const hasFiles = (event) => event.dataTransfer.types.includes("Files");

for (const kind of ["dragover", "drop"]) {
  window.addEventListener(kind, (event) => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  });
}

// Lets files, and texts, be dropped on an element, which shows that they would be taken. take(dataTransfer) is called at
// once: what was dropped can be read only then.
export function dropPlace(element, take) {
  let inside = 0; // elements that the pointer is in: it enters one before it leaves the other
  const mark = (change) => {
    inside = change === 0 ? 0 : Math.max(0, inside + change);
    element.classList.toggle("over", inside > 0);
  };
  element.classList.add("drop");
  element.addEventListener("dragenter", () => mark(1));
  element.addEventListener("dragleave", () => mark(-1));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(0);
    take(event.dataTransfer);
  });
  return element;
}
