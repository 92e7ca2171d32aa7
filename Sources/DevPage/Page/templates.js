// The form for the developer's own card templates. They are read, checked and used here.
import { byID, ask, say } from "/elements.js";

const sample = { templates: [
  { when: { activity: "order-*" }, title: "status", lines: ["driverName", { label: "Arrives", key: "eta" }], progress: "progress", timer: "estimatedDeliveryTime", trailing: "progress" },
] };

export class TemplatesPanel {
  constructor() {
    this.text = byID("template-text");
    this.answer = byID("template-answer");
    this.text.value = JSON.stringify(sample, null, 2);
    byID("template-form").addEventListener("submit", (event) => { event.preventDefault(); this.use(this.text.value); });
    byID("template-none").addEventListener("click", () => this.use("{\"templates\": []}"));
  }

  // Shows the templates in force, when somebody opens the view.
  async open() {
    try {
      const used = await ask("/api/templates");
      if (used.templates.length) this.text.value = JSON.stringify(used, null, 2);
    } catch (error) { say(this.answer, error.message, true); }
  }

  async use(body) {
    try {
      const used = await ask("/api/templates", { method: "POST", body });
      this.text.removeAttribute("aria-invalid");
      say(this.answer, used.count ? `Cards are drawn by ${used.count === 1 ? "it" : `${used.count} templates`} where one fits.` : "Cards are drawn by their keys.");
    } catch (error) {
      this.text.setAttribute("aria-invalid", "true");
      say(this.answer, error.message, true);
    }
  }
}
