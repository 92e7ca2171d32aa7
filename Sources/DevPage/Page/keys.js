// Keys: `/` searches, arrows go through lines and phones, Escape closes a line.
import { byID } from "/elements.js";
import { isNarrow, show } from "/layout.js";

const isField = (element) => element.matches("textarea, select, input:not([type=checkbox])");

function step(elements, focused, key) {
  const all = [...elements].filter((one) => one.checkVisibility());
  const place = all.indexOf(focused);
  const next = { ArrowDown: place + 1, ArrowRight: place + 1, ArrowUp: place - 1, ArrowLeft: place - 1, Home: 0, End: all.length - 1 }[key];
  return next === undefined ? undefined : all[next];
}

// `/` begins a search, and Escape ends it. Arrows go through lines and phones.
export function followKeys(endSearch) {
  const field = byID("search-text");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target;
    if (event.key === "/" && !isField(target)) {
      show("timeline");
      field.focus();
      field.select();
      return event.preventDefault();
    }
    if (target === field && event.key === "Escape") {
      if (field.value) endSearch(); else field.blur();
      return event.preventDefault();
    }
    const entries = byID("entries");
    if (event.key === "Escape" && entries.contains(target) && target.closest("details[open]")) {
      const summary = target.closest("details").querySelector("summary");
      summary.click();
      summary.focus();
      return event.preventDefault();
    }
    if (event.key === "Escape" && entries.contains(target) && field.value) {
      endSearch();
      return event.preventDefault();
    }
    const summaries = entries.querySelectorAll("summary");
    let next;
    if (target === field || (target === document.body && !isNarrow())) {
      if (event.key === "ArrowDown") next = entries.querySelector("details[open] > summary") ?? summaries[0];
    } else if (entries.contains(target) && !isField(target)) {
      if (["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) {
        next = step(summaries, target.closest("li")?.querySelector("summary"), event.key) ?? (event.key === "ArrowUp" ? field : undefined);
      }
    } else if (target.closest("#phone-list, #quiet-phones")) {
      next = step(byID("phones").querySelectorAll(".chips button, #quiet-title"), target, event.key);
    }
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  });
}
