/// Draws what of the hour's budget of an activity is spent.
enum BudgetScript {
    static let text = #"""
        import { el, byID, ask } from "/elements.js";

        // More than these do not fit a phone's width side by side: one stands for several then.
        const cellsMax = 60;

        function cells(meter) {
          const count = Math.min(meter.perHour, cellsMax);
          const each = meter.perHour / count;
          return Array.from({ length: count }, (_, index) => {
            const isSpent = meter.spent > index * each;
            return el("span", { class: isSpent ? "spent" : (index + 1) * each > meter.perHour - meter.reserve ? "kept" : "free" });
          });
        }

        // When each was spent: what was spent an hour ago returns now.
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
          return el("div", { class: `budget is-${meter.standing}` },
            el("div", { class: "cells", role: "meter", "aria-label": name, "aria-valuemin": "0", "aria-valuemax": String(meter.perHour),
              "aria-valuenow": String(Math.min(meter.spent, meter.perHour)), "aria-valuetext": meter.text }, cells(meter)),
            meter.returnsInSeconds.length ? el("div", { "aria-hidden": "true" }, hour(meter)) : null,
            el("p", { class: "hint", id }, meter.text));
        }

        export class BudgetPanel {
          constructor() {
            this.root = byID("budget");
            this.activity = "";
            this.known = "";
            // Time alone brings back what is spent.
            setInterval(() => this.ask(), 5000);
          }

          // Asks again once another activity is looked at, or something was pushed.
          follow(activity, lastPush) {
            const known = JSON.stringify([activity, lastPush]);
            if (known === this.known) return;
            this.known = known;
            this.activity = activity;
            this.ask();
          }

          async ask() {
            const activity = this.activity;
            if (!activity) return this.draw(null);
            if (document.hidden) return;
            try {
              const found = await ask(`/api/budget?activity=${encodeURIComponent(activity)}`);
              if (this.activity === activity) this.draw(found);
            } catch { /* the status line says that nobody answers */ }
          }

          draw(found) {
            const text = JSON.stringify(found);
            if (text === this.drawn) return;
            this.drawn = text;
            this.root.hidden = !found?.worker && !found?.phone;
            if (this.root.hidden) return this.root.replaceChildren();
            this.root.replaceChildren(el("h3", {}, `Budget of ${found.activity}`),
              ...[found.worker ? drawing(`Budget of ${found.activity} in the worker`, found.worker, "budget-says") : null,
                found.phone ? drawing(`Budget of ${found.activity} on the phone`, found.phone, "phone-budget-says") : null].filter(Boolean));
          }
        }
        """#
}
