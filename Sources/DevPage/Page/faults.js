// Buttons that make the simulated APNs fail, and the list of its present faults.
import { el, byID, ask, say } from "/elements.js";

const count = () => Number(byID("fault-count").value) || 1;

// Request bodies of the simulator's control API. The server replaces `phone` by the phone's token.
const faults = [
  ["429, too many requests", () => ({ kind: "answer", status: 429, reason: "TooManyRequests", count: count() })],
  ["503, unavailable", () => ({ kind: "answer", status: 503, reason: "ServiceUnavailable", count: count() })],
  ["410 for this phone’s token, once", (phone) => ({ kind: "answer", status: 410, reason: "Unregistered", timestampMillis: Date.now(), count: 1, phone })],
  ["No answer", () => ({ kind: "stall", count: count() })],
  ["Answers take 2 s", () => ({ kind: "latency", millis: 2000 })],
  ["Close the connections", () => ({ kind: "now", action: "close" })],
  ["GOAWAY", () => ({ kind: "now", action: "goaway", reason: "Shutdown" })],
  ["Refuse new connections", () => ({ kind: "refuse" })],
];

export class FaultsPanel {
  constructor(chosenPhone) {
    this.said = byID("fault-answer");
    const button = (label, act) => el("button", { type: "button", class: "small", onclick: async () => {
      try {
        const answer = await act();
        say(this.said, answer.connections === undefined ? "" : `Done to ${answer.connections} connection${answer.connections === 1 ? "" : "s"}.`);
      } catch (error) { say(this.said, error.message, true); }
    } }, label);
    byID("fault-buttons").replaceChildren(
      ...faults.map(([label, body]) => button(label, () => {
        const phone = chosenPhone();
        const document = body(phone);
        if ("phone" in document && !phone) throw new Error("There is no phone yet.");
        return ask("/api/faults", { method: "POST", body: JSON.stringify(document) });
      })),
      button("All clear", () => ask("/api/faults", { method: "DELETE" })));
  }

  draw(inForce) {
    const text = JSON.stringify(inForce);
    if (text === this.drawn) return;
    this.drawn = text;
    byID("fault-list").replaceChildren(...(inForce.length ? inForce : [{ text: "Nothing goes wrong on purpose." }])
      .map((fault) => el("li", {}, fault.text, fault.fired ? ` It did so ${fault.fired === 1 ? "once" : `${fault.fired} times`}.` : "")));
  }
}
