// Draws audiences: a pixel for each member, coloured by the age of what it shows, and the same in words and numbers.
import { el, byID, ask, say, badge, clock, many } from "/elements.js";
import { BudgetPanel } from "/budget.js";
import { isSeen } from "/layout.js";

// The field is dark in light mode, too, like a phone's card. So one scale of colours is enough for both modes.
const ages = [
  { name: "under 2 s", upTo: 2, color: "#fde725" }, { name: "2 to 10 s", upTo: 10, color: "#8fd744" },
  { name: "10 s to 1 min", upTo: 60, color: "#35b779" }, { name: "1 to 10 min", upTo: 600, color: "#4f9fd6" },
  { name: "older", upTo: Infinity, color: "#b58be8" },
];
const others = {
  none: { name: "nothing shown yet", color: "#6b7080" }, ended: { name: "ended", color: "#d98a5f" },
  dismissed: { name: "off the Lock Screen", color: "#7d4d36" }, gone: { name: "left, or token refused", color: "#a3243b" },
};
const away = { name: "away: a hollow square in its colour" };

// Characters that name rows, as in `AudienceField`.
const digits = "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ!$%()*+,-.:;=?@[]^_{|}~";
const time = (seconds) => seconds === null ? "—" : clock(seconds * 1000);

function kindOf(row, now) {
  if (others[row.state]) return others[row.state];
  return ages.find((age) => now - row.stamp < age.upTo) ?? ages.at(-1);
}

// Draws a square for each member, as many in a row as fit. It is drawn again each second, because what is shown grows older.
function drawField(canvas, field, now) {
  const count = field.cells.length;
  const width = Math.max(120, canvas.parentElement.clientWidth);
  const size = count > 4000 ? 5 : count > 1000 ? 7 : count > 200 ? 10 : 16;
  const columns = Math.max(1, Math.floor(width / size));
  const scale = window.devicePixelRatio || 1;
  const [wide, high] = [columns * size, Math.ceil(count / columns) * size];
  if (canvas.width !== wide * scale || canvas.height !== high * scale) {
    Object.assign(canvas, { width: wide * scale, height: high * scale });
    canvas.style.width = `${wide}px`;
    canvas.style.height = `${high}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = "#0b0c10";
  context.fillRect(0, 0, wide, high);
  const kinds = field.rows.map((row) => kindOf(row, now));
  for (let index = 0; index < count; index += 1) {
    const place = digits.indexOf(field.cells[index]);
    const [x, y] = [(index % columns) * size, Math.floor(index / columns) * size];
    context.fillStyle = kinds[place].color;
    context.fillRect(x, y, size - 1, size - 1);
    if (!field.rows[place].away) continue;
    context.fillStyle = "#0b0c10";
    const frame = Math.max(1, Math.round(size / 5));
    context.fillRect(x + frame, y + frame, size - 1 - 2 * frame, size - 1 - 2 * frame);
  }
  return { columns, size };
}

function countKinds(field, now) {
  const counts = new Map();
  let awayCount = 0;
  const perRow = field.rows.map(() => 0);
  for (const digit of field.cells) perRow[digits.indexOf(digit)] += 1;
  field.rows.forEach((row, index) => {
    const kind = kindOf(row, now);
    counts.set(kind, (counts.get(kind) ?? 0) + perRow[index]);
    if (row.away) awayCount += perRow[index];
  });
  return { counts, awayCount };
}

function summary(audience, { counts, awayCount }) {
  const parts = [...ages, ...Object.values(others)].filter((kind) => counts.get(kind))
    .map((kind) => ages.includes(kind) ? `${many(counts.get(kind), "shows", "show")} what is ${kind.name}${kind.name === "older" ? "" : " old"}`
      : `${counts.get(kind).toLocaleString("en")}: ${kind.name}`);
  if (awayCount) parts.push(`${awayCount.toLocaleString("en")} of them are away`);
  return `${many(audience.members, "member")} of ${audience.name}. ${parts.join("; ")}.`;
}

// The view of one audience. Its parts are made once, and filled again when something changes.
class AudienceView {
  constructor(write, seek) {
    this.canvas = el("canvas", { role: "img" });
    this.legend = el("ul", { class: "legend" });
    this.facts = el("p", { class: "hint" });
    this.shown = el("div", { class: "wide" });
    this.rounds = el("div", { class: "wide" });
    const budget = el("div", { class: "wide", id: "audience-budget", hidden: "" });
    this.budget = new BudgetPanel(budget, "audience");
    this.answer = el("p", { class: "answer", role: "status" });
    this.number = el("input", { type: "number", min: "1", value: "1", id: "audience-member", "aria-label": "Number of a member" });
    this.title = el("h3", {});
    const act = (label, action, query = () => "") => el("button", { type: "button", class: "small", onclick: async () => {
      try {
        const done = await ask(`/api/audiences/${this.audience.id}/${action}${query()}`, { method: "POST" });
        say(this.answer, done.phone ? `Phone ${done.phone} is member ${this.number.value}.` : "");
        if (done.phone) seek(done.phone);
      } catch (error) { say(this.answer, error.message, true); }
    } }, label);
    const watch = act("Show the card of member", "watch", () => `?member=${encodeURIComponent(this.number.value)}`);
    this.element = el("article", { class: "audience" }, this.title,
      el("div", { class: "field" }, this.canvas), this.legend, this.facts, this.shown, this.rounds, budget,
      el("div", { class: "row", role: "group", "aria-label": "What happens to the members" },
        el("button", { type: "button", class: "small", onclick: () => write(this.audience) }, "Write an event for it"),
        act("Take a tenth of them offline", "offline"), act("Bring them all online", "online"),
        el("span", { class: "member-number" }, watch, this.number)),
      this.answer);
    this.canvas.addEventListener("click", (event) => {
      if (!this.grid) return;
      const box = this.canvas.getBoundingClientRect();
      const index = Math.floor((event.clientY - box.top) / this.grid.size) * this.grid.columns + Math.floor((event.clientX - box.left) / this.grid.size);
      if (index >= this.audience.field.cells.length) return;
      this.number.value = String(index + 1);
      watch.click();
    });
  }

  draw(audience) {
    this.audience = audience;
    const now = Date.now() / 1000;
    const counted = countKinds(audience.field, now);
    this.title.textContent = audience.name;
    this.grid = drawField(this.canvas, audience.field, now);
    const words = summary(audience, counted);
    if (this.canvas.getAttribute("aria-label") !== words) this.canvas.setAttribute("aria-label", words);
    const lines = [...ages, ...Object.values(others)].filter((kind) => ages.includes(kind) || counted.counts.get(kind))
      .map((kind) => [kind.name, counted.counts.get(kind) ?? 0, kind.color]);
    if (counted.awayCount) lines.push([away.name, counted.awayCount, null]);
    const text = JSON.stringify(lines);
    if (text !== this.drawnLegend) {
      this.drawnLegend = text;
      this.legend.replaceChildren(...lines.map(([name, count, color]) => {
        const swatch = el("span", { class: color ? "swatch" : "swatch away", "aria-hidden": "true" });
        if (color) swatch.style.background = color;
        return el("li", {}, swatch, `${name} `, el("b", {}, count.toLocaleString("en")));
      }));
    }
    this.budget.follow(audience.name, audience.rounds.map((round) => round.stamp));
    const drawn = JSON.stringify([audience.members, audience.counts, audience.shown, audience.rounds]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.facts.textContent = `${many(audience.members, "member")}, coloured by the age of what each shows` +
      (audience.unfollowed ? `; ${audience.unfollowed.toLocaleString("en")} more joined, whom the page does not follow` : "") + ".";
    this.shown.replaceChildren(...(audience.shown.length ? [el("table", {}, el("caption", {}, "What they show"),
      el("thead", {}, el("tr", {}, ["members", "content-state", "of"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, audience.shown.map((group) => el("tr", {}, el("td", {}, group.members.toLocaleString("en")),
        el("td", { class: "mono" }, JSON.stringify(group.contentState)), el("td", {}, time(group.stamp))))))] : []));
    this.rounds.replaceChildren(...(audience.rounds.length ? [el("table", {}, el("caption", {}, "Rounds of pushes, the newest first"),
      el("thead", {}, el("tr", {}, ["version", "pushes", "on the phones"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, [...audience.rounds].reverse().map((round) => el("tr", {}, el("td", {}, `${round.event} of ${time(round.stamp)}`),
        el("td", {}, `${many(round.pushes, "push", "pushes")} in ${round.tookMillis.toLocaleString("en")} ms`),
        el("td", {}, el("span", { class: "row" }, round.verdicts.map((verdict) => el("span", {}, badge(verdict.word), ` ${verdict.count.toLocaleString("en")}`))),
          round.dropped ? el("span", { class: "hint" }, `${round.dropped.toLocaleString("en")} dropped while away`) : null)))))] : []));
  }
}

export class AudiencesPanel {
  // `write` writes an event for an audience; `seek` shows the phone of a member.
  constructor(write, seek) {
    this.view = new AudienceView(write, seek);
    this.list = byID("audience-list");
    this.audiences = new Map();
    Object.assign(this, { chosen: 0, drawnMillis: 0 });
    byID("new-members").addEventListener("submit", async (event) => {
      event.preventDefault();
      const said = byID("new-members-answer");
      try {
        const made = await ask("/api/members", { method: "POST", body: JSON.stringify({
          audience: byID("new-members-audience").value, count: Number(byID("new-members-count").value), "token-type": byID("new-members-kind").value }) });
        this.chosen = made.id;
        this.draw();
        say(said, `${many(made.joined, "phone")} joined ${made.audience}.`);
      } catch (error) { say(said, error.message, true); }
    });
    // Draw again as time passes, because colours depend on age.
    setInterval(() => { if (Date.now() - this.drawnMillis >= 900) this.draw(); }, 1000);
  }

  clear() { this.audiences.clear(); }

  take(audiences) {
    for (const audience of audiences) {
      if (!this.audiences.has(audience.id)) this.chosen = audience.id;
      this.audiences.set(audience.id, audience);
    }
    if (audiences.length) this.draw();
  }

  draw() {
    if (!isSeen("audiences")) return;
    this.drawnMillis = Date.now();
    const place = byID("audience");
    const audience = this.audiences.get(this.chosen) ?? [...this.audiences.values()].at(-1);
    if (!audience) {
      if (!place.firstChild) place.replaceChildren(el("p", { class: "empty" }, "Nobody has joined one yet. An event for an audience reaches every phone that joined it."));
      return;
    }
    if (place.firstChild !== this.view.element) place.replaceChildren(this.view.element);
    const names = [...this.audiences.values()].map((one) => [one.id, one.name, one.members]);
    const text = JSON.stringify([names, audience.id]);
    if (text !== this.drawnList) {
      this.drawnList = text;
      const focused = document.activeElement?.dataset?.audience;
      this.list.replaceChildren(...(names.length < 2 ? [] : names.map(([id, name, members]) => el("li", {},
        el("button", { type: "button", "data-audience": String(id), "aria-pressed": String(id === audience.id),
          onclick: () => { this.chosen = id; this.draw(); } }, `${name}, ${members.toLocaleString("en")}`)))));
      if (focused) this.list.querySelector(`[data-audience="${CSS.escape(focused)}"]`)?.focus();
    }
    this.view.draw(audience);
  }
}
