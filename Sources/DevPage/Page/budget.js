// Draws how much of the hourly budget of an activity or an audience is spent.
import { el, byID, ask } from "/elements.js";

// Maximum number of cells, which is what fits a phone's width. With a larger budget, one cell stands for several units.
const cellsMax = 60;

function cells(meter) {
  const count = Math.min(meter.perHour, cellsMax);
  const each = meter.perHour / count;
  return Array.from({ length: count }, (_, index) => {
    const isSpent = meter.spent > index * each;
    return el("span", { class: isSpent ? "spent" : (index + 1) * each > meter.perHour - meter.reserve ? "kept" : "free" });
  });
}

// Marks when each unit was spent, from an hour ago to now. A unit returns an hour after it was spent.
function hour(meter) {
  const track = el("div", { class: "hour" });
  for (const seconds of meter.returnsInSeconds) {
    const mark = el("i");
    mark.style.left = `${Math.min(1, seconds / 3600) * 100}%`;
    track.append(mark);
  }
  return [track, el("div", { class: "hour-ends" }, el("span", {}, "an hour ago"), el("span", {}, "now"))];
}

function drawing(name, meter, id) {
  return el("div", { class: `budget is-${meter.level}` },
    el("div", { class: "cells", role: "meter", "aria-label": name, "aria-valuemin": "0", "aria-valuemax": String(meter.perHour),
      "aria-valuenow": String(Math.min(meter.spent, meter.perHour)), "aria-valuetext": meter.text }, cells(meter)),
    meter.returnsInSeconds.length ? el("div", { "aria-hidden": "true" }, hour(meter)) : null,
    el("p", { class: "hint", id }, meter.text));
}

export class BudgetPanel {
  // `kind` is what has the budget: an activity or an audience.
  constructor(root, kind) {
    this.root = root;
    this.kind = kind;
    this.name = "";
    this.known = "";
    // Ask regularly, because spent units return as time passes.
    setInterval(() => this.ask(), 5000);
  }

  // Asks again if another activity or audience is shown, or if something was pushed.
  follow(name, lastPush) {
    const known = JSON.stringify([name, lastPush]);
    if (known === this.known) return;
    this.known = known;
    this.name = name;
    this.ask();
  }

  async ask() {
    const name = this.name;
    if (!name) return this.draw(null);
    if (document.hidden) return;
    try {
      const found = await ask(`/api/budget?${this.kind}=${encodeURIComponent(name)}`);
      if (this.name === name) this.draw(found);
    } catch { /* the status line says that nobody answers */ }
  }

  draw(found) {
    const text = JSON.stringify(found);
    if (text === this.drawn) return;
    this.drawn = text;
    const name = found?.[this.kind];
    // An audience has a meter for members without frequent updates, and one for members with them. Both count the same versions, so the second is shown only when the first runs low.
    const meters = [[found?.worker, "in the worker", "budget-says"], [found?.phone, "on the phone", "phone-budget-says"],
      [found?.worker?.level === "plenty" ? null : found?.frequent, "for frequent updates", "frequent-budget-says"]].filter(([meter]) => meter);
    this.root.hidden = !meters.length;
    if (this.root.hidden) return this.root.replaceChildren();
    this.root.replaceChildren(el(this.kind === "audience" ? "h4" : "h3", {}, `Budget of ${name}`),
      ...meters.map(([meter, where, id]) => drawing(`Budget of ${name} ${where}`, meter, `${this.kind}-${id}`)));
  }
}
