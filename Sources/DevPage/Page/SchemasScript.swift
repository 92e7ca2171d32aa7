/// What the apps' code asks of a content-state: given, told what is wrong with it, and taken away.
enum SchemasScript {
    static let text = #"""
        import { el, byID, ask, say } from "/elements.js";

        export class SchemasPanel {
          // `chosen` gives the phone that is looked at.
          constructor(chosen) {
            this.chosen = chosen;
            this.text = byID("schema-text");
            this.answer = byID("schema-answer");
            this.app = byID("schema-app");
            this.given = [];
            byID("schemas").addEventListener("toggle", () => { if (byID("schemas").open) this.change(() => ask("/api/schemas"), null); });
            this.app.addEventListener("change", () => this.show());
            byID("schema-card").addEventListener("click", () => this.beginWithCard());
            byID("schema-none").addEventListener("click", () => this.change(() => ask(this.path(), { method: "DELETE" }), "The phones take whatever comes."));
            byID("schema-form").addEventListener("submit", (event) => {
              event.preventDefault();
              this.change(() => ask(this.path(), { method: "PUT", body: this.text.value }), "The phones decode by it from now on.");
            });
          }

          path() { return `/api/schemas${this.app.value ? `?app=${encodeURIComponent(this.app.value)}` : ""}`; }

          take(apps) {
            byID("schema-app-row").hidden = apps.length < 2;
            this.app.replaceChildren(el("option", { value: "" }, "every app without one of its own"), ...(apps.length < 2 ? [] : apps.map((app) => el("option", { value: app }, app))));
          }

          async change(asking, done) {
            try {
              this.given = await asking();
              this.text.removeAttribute("aria-invalid");
              this.show(done === null);
              if (done !== null) say(this.answer, done);
            } catch (error) {
              this.text.setAttribute("aria-invalid", "true");
              say(this.answer, error.message, true);
            }
          }

          show(doesFill = true) {
            const given = this.given.find((one) => (one.app ?? "") === this.app.value);
            byID("schema-none").hidden = !given;
            if (!doesFill) return;
            if (given) {
              this.text.value = JSON.stringify(given.document, null, 2);
              say(this.answer, `In force: a ${given.kind === "sample" ? "sample" : "JSON Schema"}${given.origin === "page" ? "" : `, ${given.origin}`}.`);
            } else {
              say(this.answer, "");
              if (!this.text.value) this.beginWithCard();
            }
          }

          beginWithCard() {
            const content = this.chosen()?.contentState ?? { status: "On its way", driverName: "Anne", progress: 0.4 };
            this.text.value = JSON.stringify(content, null, 2);
          }
        }
        """#
}
