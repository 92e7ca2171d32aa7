// Which entries are listed: those of a search, of one activity, after what was cleared; and older ones on request.
import { el, byID, ask, say } from "/elements.js";
import { read, go } from "/address.js";
import { isSeen, show } from "/layout.js";

// Entries of an answer, at most.
const foundMax = 300;
// Lines drawn at once, and with each request for older ones.
const pageSize = 40;
// Milliseconds between two questions of one search, while something comes.
const renewMillis = 500;

// Which entries are listed: those of the search in the address, or all; those of one activity; those after what was cleared.
export class Search {
  constructor(state, timeline, activity) {
    Object.assign(this, { state, timeline, activity, field: byID("search-text"), answer: byID("search-answer") });
    // Draws all that depends on what was found, the phone included.
    this.redraw = () => this.draw();
    // Those of a search: `null` while there is none. `text` is what they were found for.
    Object.assign(this, { found: null, text: "", isTyping: false, asking: 0, drawnMax: pageSize, mayBeOlder: true });
    this.field.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.type(), 200);
    });
    byID("search").addEventListener("submit", (event) => { event.preventDefault(); this.type(); });
    byID("search-only").addEventListener("change", (event) => go({ only: event.target.checked ? "1" : "" }));
    byID("clear").addEventListener("click", () => go({ after: String(Math.max(0, ...state.entries.keys())), entry: "" }));
    byID("uncleared").addEventListener("click", () => go({ after: "" }));
    byID("older").addEventListener("click", () => this.older());
  }

  // An entry that is here: listed, or found.
  known(id) { return this.state.entries.get(id) ?? this.found?.find((one) => one.id === id); }

  // Whether the newest event has a line, as far as a search decides that. `otherwise`: what counts while the search still looks.
  lists(newest, otherwise) {
    const { search, only, after } = read();
    if ((!search && !only) || newest.id <= Number(after)) return true;
    if (this.isBehind) return otherwise;
    return (!search || !this.found || this.found.some((one) => one.id === newest.id)) && (!only || newest.activity === this.activity());
  }

  // Something has come that the search has not looked at yet.
  get isBehind() { return this.text !== "" && (this.renewing !== undefined || this.asking > 0 || this.found === null); }

  // Nothing that was found is here any longer; what was searched for is searched anew.
  clear() {
    Object.assign(this, { found: this.text ? [] : null, text: "", mayBeOlder: true });
    this.follow();
  }

  end() {
    this.field.value = "";
    this.type();
  }

  // While somebody types, Back leads to what was there before the first letter.
  type() {
    clearTimeout(this.typing);
    const text = this.field.value.trim();
    if (text === read().search) return;
    const isFirst = !this.isTyping;
    this.isTyping = true;
    go({ search: text, entry: "" }, isFirst);
    this.isTyping = true;
  }

  // The address has changed.
  follow() {
    const { search, only, entry } = read();
    if (!entry && this.asked) {
      this.asked = 0;
      if (!search) say(this.answer, "");
    }
    this.isTyping = false;
    if (this.field.value.trim() !== search) this.field.value = search;
    byID("search-only").checked = only !== "";
    if (search !== this.text) this.ask(search, true);
  }

  // Something new has come.
  renew() {
    if (!this.text) return this.draw();
    this.renewing ??= setTimeout(() => {
      this.renewing = undefined;
      if (this.text) this.ask(this.text, false);
    }, renewMillis);
  }

  async ask(text, isByHand) {
    this.text = text;
    if (isByHand) Object.assign(this, { drawnMax: pageSize, mayBeOlder: true });
    if (!text) {
      this.found = null;
      say(this.answer, "");
      if (isByHand) byID("search-said").textContent = "";
      return this.redraw();
    }
    this.asking += 1;
    try {
      const found = await ask(`/api/entries?search=${encodeURIComponent(text)}`);
      // Somebody has typed on meanwhile.
      if (this.text !== text) return;
      // Those that "Older entries" has brought stay.
      const last = found.at(-1)?.id;
      this.found = isByHand || found.length < foundMax ? found : [...found, ...(this.found ?? []).filter((one) => one.id < last)];
      say(this.answer, "");
    } catch (error) {
      if (this.text !== text) return;
      this.found = [];
      say(this.answer, error.message, true);
    } finally { this.asking -= 1; }
    this.redraw();
    // Who listens is told what was found, once.
    if (isByHand) byID("search-said").textContent = this.answer.textContent || byID("entry-count").textContent;
    this.openWhatIsLinked();
  }

  // A link to one push or entry opens it. A push that belongs to an event is behind that.
  openWhatIsLinked() {
    if (read().entry || !/^(push|entry):\S+$/.test(this.text)) return;
    const target = this.found.find((entry) => entry.type === "event") ?? this.found[0];
    if (target) go({ entry: String(target.id) }, false);
  }

  async older() {
    if (this.rows > this.drawnMax) {
      this.drawnMax += pageSize;
      return this.draw();
    }
    const all = this.found ?? [...this.state.entries.values()];
    const first = Math.min(...all.map((entry) => entry.id));
    try {
      const older = await ask(`/api/entries?search=${encodeURIComponent(this.text)}&before=${first}`);
      this.mayBeOlder = older.length === foundMax;
      if (this.found) this.found = [...this.found, ...older];
      else for (const entry of older) this.state.entries.set(entry.id, entry);
      this.drawnMax += pageSize;
      say(this.answer, "");
    } catch (error) { say(this.answer, error.message, true); }
    this.draw();
  }

  draw() {
    if (!isSeen("timeline")) return;
    const { only, after, entry } = read();
    const state = this.state;
    const known = new Map([...(this.found ?? []).map((one) => [one.id, one]), ...state.entries]);
    const activity = only ? this.activity() : "";
    const isListed = (one) => one.id > Number(after) && (!activity || one.activity === activity);
    const all = (this.found ?? [...state.entries.values()]).filter(isListed).sort((one, other) => other.id - one.id);
    const { rows, drawn } = this.timeline.draw(all, known, Number(entry), this.drawnMax);
    this.rows = rows;
    const first = (this.found ?? [...state.entries.values()]).reduce((least, one) => Math.min(least, one.id), Infinity);
    const isMore = rows > drawn || (this.mayBeOlder && !after && (this.found ? this.found.length >= foundMax : first > state.firstEntry && first < Infinity));
    byID("older").hidden = !isMore;
    byID("uncleared").hidden = !after;
    // A push stands behind its event, and is counted with that.
    const count = this.answer.textContent ? "" : this.found ? `${rows} found${isMore ? ", and older ones" : ""}` : rows ? `${rows}${isMore ? ", and older ones" : ""}` : "";
    if (byID("entry-count").textContent !== count) {
      byID("entry-count").textContent = count;
      byID("search-said").textContent = "";
    }
    this.drawNothing(rows ? "" : after ? "Nothing since it was cleared." : this.found ? "Nothing fits. mailboat dev knows only events of this run." : activity ? "Nothing of this activity." : "Nothing yet. Publish an event, and you will see here what becomes of it.", !this.found && !activity);
    this.openUnlisted(Number(entry), known);
  }

  drawNothing(text, canPublish) {
    const place = byID("nothing");
    place.hidden = !text;
    if (place.dataset.drawn === text) return;
    place.dataset.drawn = text;
    place.replaceChildren(el("span", {}, text), canPublish && text ? el("button", { type: "button", onclick: () => {
      show("publish");
      byID("publish-event").focus();
    } }, "Write an event") : "");
  }

  // The address names an entry that is too old to be here: it is searched for, unless it is gone.
  async openUnlisted(id, known) {
    if (!id || known.has(id) || !this.state.run || this.text || this.asked === id) return;
    this.asked = id;
    try {
      await ask(`/api/entries/${id}`);
      go({ search: `entry:${id}` }, false);
    } catch {
      say(this.answer, `Entry ${id} is gone: this page keeps the newest entries, and those of this run alone.`, true);
    }
  }
}
