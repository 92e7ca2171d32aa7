/// Draws the chosen phone, and does to it what can be done to one.
enum PhonesScript {
    static let text = #"""
        import { el, byID, ask, say, badge, tone, dateNotes, name } from "/elements.js";

        const words = { untouched: "nothing yet", active: "", stale: "stale", ended: "ended", dismissed: "gone" };

        // As SwiftUI draws a timer: down to the moment, and up from it.
        function timerText(seconds) {
          const left = Math.abs(Math.round(seconds - Date.now() / 1000));
          const two = (number) => String(number).padStart(2, "0");
          const [days, hours] = [Math.floor(left / 86400), Math.floor(left / 3600)];
          if (days > 99) return new Date(seconds * 1000).toLocaleDateString();
          return `${hours ? `${hours}:` : ""}${hours ? two(Math.floor(left / 60) % 60) : Math.floor(left / 60)}:${two(left % 60)}`;
        }

        setInterval(() => {
          for (const timer of document.querySelectorAll("[data-timer]")) timer.textContent = timerText(Number(timer.dataset.timer));
        }, 1000);

        function face(face) {
          if (!face) return el("div", { class: "face" });
          const parts = [];
          if (face.sides.length === 2) {
            const [home, away] = face.sides;
            parts.push(el("div", { class: "sides" }, el("span", {}, home.name),
              el("span", { class: "score" }, `${home.score} : ${away.score}`), el("span", {}, away.name)));
          }
          if (face.headline) parts.push(el("p", { class: "headline" }, face.headline));
          if (face.progress !== null) parts.push(el("progress", { max: 1, value: face.progress, "aria-label": "progress" }));
          if (face.timer !== null) parts.push(el("p", { class: "timer", "data-timer": String(face.timer) }, timerText(face.timer)));
          if (face.rows.length) parts.push(el("dl", {}, face.rows.flatMap((row) => [el("dt", {}, name(row.name)), el("dd", {}, name(row.value))])));
          return el("div", { class: "face" }, parts);
        }

        const alertText = (part) => typeof part === "string" ? part : part?.["loc-key"] ?? "";

        function alertOf(alert) {
          return el("div", { class: "card-alert" }, el("b", {}, `🔔 ${alertText(alert.title)}`), alertText(alert.body));
        }

        function lockCard(phone) {
          if (phone.card === "untouched") return el("p", { class: "lock-empty" }, "No push has been shown yet.");
          if (phone.card === "dismissed") {
            return el("p", { class: "lock-empty" }, phone.swiped ? "The card was swiped away." : "The card has left the Lock Screen.");
          }
          const until = phone.dismissedAt ? `, leaves ${new Date(phone.dismissedAt * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}` : "";
          return el("article", { class: `lock-card ${phone.card} fresh`, "aria-label": "Lock Screen card" },
            phone.alert && phone.isAlertNew ? alertOf(phone.alert) : null,
            el("div", { class: "inside" },
              el("div", { class: "card-head" }, el("span", {}, name(phone.activity || "unknown activity")),
                words[phone.card] ? el("b", {}, words[phone.card] + until) : null),
              face(phone.face)));
        }

        function islands(phone) {
          if (!phone.face || phone.card === "dismissed" || phone.card === "ended") return [];
          return [
            el("figure", {}, el("figcaption", {}, "Dynamic Island, expanded"), el("div", { class: "island expanded" }, face(phone.face))),
            el("figure", {}, el("figcaption", {}, "Minimal, beside another activity"), el("div", { class: "island minimal" }, phone.face.minimal || "•")),
          ];
        }

        function compact(phone) {
          if (!phone.face || phone.card === "dismissed" || phone.card === "ended") return el("div", { class: "island compact", "aria-hidden": "true" });
          return el("div", { class: "island compact", role: "group", "aria-label": "Dynamic Island, compact" },
            el("span", {}, phone.face.leading), el("span", { "aria-hidden": "true" }), el("span", {}, phone.face.trailing));
        }

        // The parts are made once and filled anew, so that a button keeps its focus while the card changes.
        export class PhonePanel {
          constructor(root) {
            this.root = root;
            this.device = el("div", { class: "device" });
            this.islands = el("div", { class: "islands" });
            this.says = el("div", { class: "phone-says" });
            this.answer = el("p", { class: "answer", role: "status" });
            this.online = this.button("", () => this.phone.online ? "offline" : "online");
            this.reboot = this.button("Restart it", () => "reboot");
            this.swipe = this.button("Swipe the card away", () => "swipe");
            this.change = this.button("Change the token", () => "change-token");
            this.register = this.button("Register the new token", () => "register-token");
            this.listen = this.button("", () => this.phone.channel ? "unlisten" : "listen");
            this.actions = el("div", { class: "phone-says" },
              el("div", { class: "row", role: "group", "aria-label": "What happens to the phone" }, this.online, this.reboot, this.swipe, this.change, this.register, this.listen), this.answer);
          }

          button(label, action) {
            return el("button", { type: "button", class: "small", onclick: async () => {
              say(this.answer, "");
              try {
                await ask(`/api/phones/${this.phone.id}/${action()}`, { method: "POST" });
              } catch (error) { say(this.answer, error.message, true); }
            } }, label);
          }

          clear() {
            this.phone = undefined;
            this.drawn = "";
            this.root.replaceChildren(el("p", { class: "empty" }, "No phone yet. Publish an event, and one comes by itself."));
          }

          draw(phone) {
            const isOther = this.phone?.id !== phone.id;
            this.phone = phone;
            if (isOther) {
              this.root.replaceChildren(this.device, this.says, this.actions, this.islands);
              say(this.answer, "");
            }
            this.listen.hidden = phone.swiped || !(phone.channel || this.canListen);
            this.listen.textContent = phone.channel ? "Stop listening" : "Listen to the newest channel";
            // The clock ticks on; what did not change is not drawn again.
            const text = JSON.stringify(phone);
            if (text === this.drawn) return;
            this.drawn = text;
            this.device.className = phone.online ? "device" : "device away";
            const now = new Date();
            this.device.replaceChildren(el("div", { class: "screen", role: "group", "aria-label": `Lock Screen of phone ${phone.id}` },
              compact(phone),
              el("div", { "aria-hidden": "true" },
                el("p", { class: "lock-date" }, now.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" })),
                el("p", { class: "lock-time" }, `${now.getHours()}:${String(now.getMinutes()).padStart(2, "0")}`)),
              phone.online ? null : el("p", { class: "away-note" }, phone.rebooting ? "⟳ starting up: nothing reaches it" : "✈ away: nothing reaches it"),
              lockCard(phone)));
            this.islands.replaceChildren(...islands(phone));
            this.says.replaceChildren(...[
              phone.verdict ? el("p", { class: `note ${tone(phone.verdict.word)}` }, badge(phone.verdict.word), ` ${phone.verdict.text}`) : null,
              ...dateNotes(phone.dates),
              el("p", { class: "phone-facts" },
                `Phone ${phone.id}, app ${phone.app || "unknown"}, token ${phone.token}, alerts ${phone.alertCount}` + (phone.alert ? `, the newest “${alertText(phone.alert.title)}”` : "") +
                (phone.channel ? `, listens to ${phone.channel}` : "") +
                (phone.relevanceScore === null ? "" : `, relevance ${phone.relevanceScore}`) +
                (phone.staleDate === null ? "" : `, stale from ${new Date(phone.staleDate * 1000).toLocaleTimeString()}`)),
            ].filter(Boolean));
            this.online.textContent = phone.online ? "Take it offline" : "Bring it back";
            this.online.hidden = phone.rebooting;
            this.reboot.hidden = phone.rebooting;
            this.swipe.hidden = phone.swiped;
            this.change.hidden = phone.swiped;
            this.register.hidden = phone.swiped || !phone.hasUntoldToken || !phone.activity;
          }
        }

        const dot = (phone) => phone.verdict ? badge(phone.verdict.word) : null;

        // A button for each phone; the chosen one is pressed.
        export function drawPhoneList(phones, chosen, choose) {
          const list = byID("phone-list");
          const focused = document.activeElement?.dataset?.phone;
          const counts = new Map();
          for (const phone of phones) counts.set(phone.activity, (counts.get(phone.activity) ?? 0) + 1);
          // Members of an audience have its name all alike.
          const nameOf = (phone) => !phone.activity ? `phone ${phone.id}` : phone.activity + (counts.get(phone.activity) > 1 ? `, phone ${phone.id}` : "");
          list.replaceChildren(...phones.map((phone) => el("li", {},
            el("button", { type: "button", "data-phone": String(phone.id), "aria-pressed": String(phone.id === chosen), onclick: () => choose(phone.id) },
              nameOf(phone), dot(phone)))));
          if (focused) list.querySelector(`[data-phone="${CSS.escape(focused)}"]`)?.focus();
        }
        """#
}
