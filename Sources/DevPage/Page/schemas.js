// The form for what the apps' code expects of a content-state. A schema is given, checked and removed here.
import { el, byID, ask, say } from "/elements.js";

export class SchemasPanel {
  // `chosen` gives the shown phone. `changed` is called when the phones begin to decode by another schema.
  constructor(chosen, changed) {
    Object.assign(this, { chosen, changed });
    this.text = byID("schema-text");
    // What the page put into the form; anything else was written by somebody.
    this.filled = "";
    this.answer = byID("schema-answer");
    this.app = byID("schema-app");
    this.given = [];
    this.app.addEventListener("change", () => this.show());
    byID("schema-card").addEventListener("click", () => this.beginWithCard());
    byID("schema-none").addEventListener("click", () => this.change(() => ask(this.path(), { method: "DELETE" }), () => this.afterwards()));
    byID("schema-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.change(() => ask(this.path(), { method: "PUT", body: this.text.value }), () => `The phones decode by it from now on. It is ${this.kind(this.inForce())}.${this.attributes(this.inForce())}`);
    });
  }

  // Shows the schemas in force, when somebody opens the view.
  open() { this.change(() => ask("/api/schemas")); }

  // Fetches the schemas, which somebody may have given by a request or in another window. What somebody writes in the form stays.
  async renew() {
    try {
      const given = await ask("/api/schemas");
      if (JSON.stringify(given) === JSON.stringify(this.given)) return;
      this.given = given;
      const isWritten = this.text.value !== this.filled;
      this.show(!isWritten);
      if (isWritten) say(this.answer, this.words());
    } catch { /* the earlier words stay */ }
  }

  path() { return `/api/schemas${this.app.value ? `?app=${encodeURIComponent(this.app.value)}` : ""}`; }

  take(apps) {
    byID("schema-app-row").hidden = apps.length < 2;
    this.app.replaceChildren(el("option", { value: "" }, "every app without one of its own"), ...(apps.length < 2 ? [] : apps.map((app) => el("option", { value: app }, app))));
  }

  inForce() { return this.given.find((one) => (one.app ?? "") === this.app.value); }

  kind(given) { return { sample: "a sample", swift: `the Swift type ${given?.type}` }[given?.kind] ?? "a JSON Schema"; }

  // A sentence about the attributes that a start must bring; "": nothing to say.
  attributes(given) {
    if (given?.kind !== "swift") return "";
    return given.attributesType ? ` A start must bring ${given.attributesType}.` : " The attributes of a start are not checked: paste their type, too.";
  }

  // What is in force, in words; "": nothing is.
  words() {
    const given = this.inForce();
    return given ? `In force: ${this.kind(given)}${given.origin === "page" ? "" : `, ${given.origin}`}.${this.attributes(given)}` : "";
  }

  // A sentence about what the phones accept after a schema was removed.
  afterwards() {
    if (this.app.value && this.given.some((one) => one.app === null)) return "The phones decode as those of the other apps.";
    return !this.app.value && this.given.length ? "The phones of apps without a schema of their own take whatever comes." : "The phones take whatever comes.";
  }

  // Changes or fetches the schemas. `done` gives the words for what was done. Without it, the schemas in force are shown.
  async change(asking, done) {
    try {
      this.given = await asking();
      this.text.removeAttribute("aria-invalid");
      this.show(!done);
      if (!done) return;
      say(this.answer, done());
      this.changed();
    } catch (error) {
      this.text.setAttribute("aria-invalid", "true");
      say(this.answer, error.message, true);
    }
  }

  show(doesFill = true) {
    const given = this.inForce();
    byID("schema-none").hidden = !given;
    if (!doesFill) return;
    if (given) {
      this.text.value = this.filled = given.kind === "swift" ? given.document : JSON.stringify(given.document, null, 2);
    } else if (!this.text.value) this.beginWithCard();
    say(this.answer, this.words());
  }

  beginWithCard() {
    const content = this.chosen()?.contentState ?? { status: "On its way", driverName: "Anne", progress: 0.4 };
    this.text.value = this.filled = JSON.stringify(content, null, 2);
  }
}
