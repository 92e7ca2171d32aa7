/// Draws events, what became of them, and pushes.
enum TimelineScript {
    static let text = #"""
        import { el, byID, ask, badge, clock, copyButton, dateNotes } from "/elements.js";

        // Drawn at once; a search finds the older ones.
        const drawnMax = 100;
        // A push is mostly seen before its event's outcome, and moves into the event then: for so long it has no line of its own.
        const unlinkedMillis = 1500;

        const isPush = (entry) => entry?.type === "push" || entry?.type === "broadcast";

        const verdicts = (entry, entries) => entry.related.map((id) => entries.get(id)).filter((other) => isPush(other)).sort((a, b) => a.id - b.id);

        function head(entry, entries) {
          const parts = [];
          if (entry.type === "event") {
            parts.push(el("b", {}, entry.event ? entry.event : "event"));
            if (entry.activity) parts.push(el("span", { class: "mono" }, entry.activity));
            parts.push(badge(entry.rejection && !entry.outcome ? "rejected" : entry.outcome?.name ?? "pending"));
            if (entry.outcome?.isDowngraded) parts.push(badge("downgraded"));
            for (const push of verdicts(entry, entries)) parts.push(badge(push.verdict.word));
          } else if (isPush(entry)) {
            parts.push(el("b", {}, `${entry.type}${entry.event ? `, ${entry.event}` : ""}`));
            if (entry.activity) parts.push(el("span", { class: "mono" }, entry.activity));
            parts.push(badge(entry.verdict.word));
          } else {
            parts.push(el("b", {}, entry.phone ? `phone ${entry.phone}` : "note"));
            if (entry.activity) parts.push(el("span", { class: "mono" }, entry.activity));
          }
          return el("span", { class: "head" }, parts);
        }

        // What became of an event, or what it waits for. Moments are written as all others here.
        const became = ({ wait, text }) => !wait ? text : wait.untilMillis === null ? wait.text : `${wait.text} ${wait.untilText} ${clock(wait.untilMillis)}.`;

        function says(entry, entries) {
          if (isPush(entry)) return entry.verdict.text;
          if (entry.type === "note") return entry.text;
          const own = entry.isByPage ? "By this page, as an app’s server does. " : "";
          return own + [became(entry), ...verdicts(entry, entries).filter((push) => push.verdict.word !== "shown" || push.type === "broadcast").map((push) => push.verdict.text)].join(" ");
        }

        function pushParts(push) {
          const parts = [el("ol", { class: "chain" },
            el("li", {}, el("b", {}, push.type === "push" ? "Push" : "Broadcast"), el("span", {}, `${push.event || "unreadable"} at priority ${push.priority}, timestamp ${push.stamp ?? "none"}`)),
            el("li", {}, el("b", {}, "APNs"), el("span", {}, push.status === null ? "no answer now" : `${push.status} ${push.reason}`)),
            el("li", {}, el("b", {}, push.type === "push" ? `Phone ${push.phone}` : "Phones"), el("span", {}, push.verdict.text)))];
          if (push.changes.length) {
            parts.push(el("table", {}, el("caption", {}, "Against the push before"),
              el("thead", {}, el("tr", {}, ["key", "before", "after"].map((name) => el("th", { scope: "col" }, name)))),
              el("tbody", {}, push.changes.map((change) => el("tr", {}, el("th", { scope: "row", class: "mono" }, change.path || "all"),
                el("td", { class: "mono" }, change.before ?? "—"), el("td", { class: "mono" }, change.after ?? "—"))))));
          }
          parts.push(...dateNotes(push.dates));
          return parts;
        }

        export class Timeline {
          // `told`: how many rows there are, and how many of them are drawn; after each drawing.
          constructor(list, publishAgain, told) {
            this.list = list;
            this.items = new Map();
            this.publishAgain = publishAgain;
            this.told = told;
          }

          // `shown`: newest first.
          draw(shown, entries) {
            clearTimeout(this.later);
            const now = Date.now();
            const isHidden = (entry) => isPush(entry) && (entry.related.some((id) => entries.has(id)) || now - entry.atMillis < unlinkedMillis);
            if (shown.some((entry) => isPush(entry) && now - entry.atMillis < unlinkedMillis)) {
              this.later = setTimeout(() => this.draw(shown, entries), unlinkedMillis);
            }
            const rows = shown.filter((entry) => !isHidden(entry));
            const wanted = rows.slice(0, drawnMax);
            const kept = new Set(wanted.map((entry) => entry.id));
            for (const [id, item] of this.items) if (!kept.has(id)) { item.element.remove(); this.items.delete(id); }
            let before = null;
            for (const entry of wanted) {
              const item = this.item(entry, entries);
              const place = before ? before.nextSibling : this.list.firstChild;
              // Moving an element takes its focus: only what stands elsewhere is moved.
              if (item.element !== place) this.list.insertBefore(item.element, place);
              before = item.element;
            }
            this.told(rows.length, wanted.length);
          }

          item(entry, entries) {
            const text = JSON.stringify([entry, verdicts(entry, entries)]);
            let item = this.items.get(entry.id);
            if (!item) {
              const summary = el("summary");
              const body = el("div", { class: "body" });
              const details = el("details", { ontoggle: () => this.fill(item) }, summary, body);
              item = { element: el("li", { id: `entry-${entry.id}` }, details), details, summary, body, filled: "" };
              this.items.set(entry.id, item);
            }
            Object.assign(item, { entry, entries });
            if (item.text !== text) {
              item.text = text;
              item.summary.replaceChildren(el("time", { datetime: new Date(entry.atMillis).toISOString() }, clock(entry.atMillis)),
                head(entry, entries), el("span", { class: "says" }, says(entry, entries)));
              if (item.details.open) this.fill(item);
            }
            return item;
          }

          async fill(item) {
            if (!item.details.open || item.filled === item.text) return;
            item.filled = item.text;
            const { entry, entries } = item;
            const parts = [];
            if (entry.type === "event") {
              const into = entry.outcome?.into;
              parts.push(el("ol", { class: "chain" },
                el("li", {}, el("b", {}, "Event"), el("span", {}, `number ${entry.id}, partition ${entry.partition}, offset ${entry.offset}` +
                  (entry.priority === null ? "" : `, asks for priority ${entry.priority}`))),
                el("li", {}, el("b", {}, "Became"), el("span", {}, became(entry),
                  into ? el("button", { type: "button", class: "jump", onclick: () => this.jump(into) }, ` Show event ${into}`) : null)),
                entry.outcome?.queuedMillis != null ? el("li", {}, el("b", {}, "Took"), el("span", {}, `${entry.outcome.queuedMillis} ms in the worker` +
                  (entry.outcome.apnsMillis != null ? `, ${entry.outcome.apnsMillis} ms at APNs` : ""))) : null));
              for (const push of verdicts(entry, entries)) parts.push(...pushParts(push));
            } else if (isPush(entry)) {
              parts.push(...pushParts(entry));
            }
            const row = el("div", { class: "row" });
            item.body.replaceChildren(...parts, row);
            if (entry.type === "note") return;
            try {
              const copies = await ask(`/api/entries/${entry.id}/copies`);
              const names = { curl: "Copy as curl", kcat: "Copy as kcat", swift: "Copy as Swift", test: "Copy as Swift test", json: "Copy as JSON", fixture: "Copy as test fixture" };
              const buttons = Object.keys(names).filter((name) => copies[name]).map((name) => copyButton(names[name], copies[name]));
              if (entry.type === "event" && !entry.rejection) {
                buttons.push(el("button", { type: "button", class: "small", onclick: () => this.publishAgain(entry.id) }, "Publish again"));
              }
              buttons.push(copyButton("Copy a link", `${location.origin}/#search=entry:${entry.id}`));
              row.replaceChildren(...buttons);
              // As it was spelt: the browser's own numbers would lose a digit or a zero.
              if (copies.json) row.before(el("pre", { tabindex: 0, role: "region", "aria-label": `Entry ${entry.id} as JSON` }, copies.json));
            } catch (error) { row.replaceChildren(el("span", { class: "hint" }, error.message)); }
          }

          jump(id) {
            const item = this.items.get(id);
            if (!item) return;
            item.details.open = true;
            item.summary.focus();
          }
        }
        """#
}
