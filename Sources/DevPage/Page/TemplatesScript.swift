/// The developer's own templates of cards: read, told what is wrong with them, and used.
enum TemplatesScript {
    static let text = #"""
        import { byID, ask, say } from "/elements.js";

        const sample = { templates: [
          { when: { activity: "order-*" }, title: "status", lines: ["driverName", { label: "Arrives", key: "eta" }], progress: "progress", timer: "estimatedDeliveryTime", trailing: "progress" },
        ] };

        export function prepareTemplates() {
          const text = byID("template-text");
          const answer = byID("template-answer");
          text.value = JSON.stringify(sample, null, 2);
          byID("templates").addEventListener("toggle", async () => {
            if (!byID("templates").open) return;
            try {
              const used = await ask("/api/templates");
              if (used.templates.length) text.value = JSON.stringify(used, null, 2);
            } catch (error) { say(answer, error.message, true); }
          });
          const use = async (body) => {
            try {
              const used = await ask("/api/templates", { method: "POST", body });
              text.removeAttribute("aria-invalid");
              say(answer, used.count ? `Cards are drawn by ${used.count === 1 ? "it" : `${used.count} templates`} where one fits.` : "Cards are drawn by their keys.");
            } catch (error) {
              text.setAttribute("aria-invalid", "true");
              say(answer, error.message, true);
            }
          };
          byID("template-form").addEventListener("submit", (event) => { event.preventDefault(); use(text.value); });
          byID("template-none").addEventListener("click", () => use("{\"templates\": []}"));
        }
        """#
}
