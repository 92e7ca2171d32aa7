// Decides which entries are listed: those of a search, of one activity, or newer than what was cleared; and older ones on request.
import { el, byID, ask, say, many } from "/elements.js";
import { read, go } from "/address.js";
import { isSeen, show } from "/layout.js";

// Maximum number of entries in an answer.
const foundMax = 300;
// Number of lines that are drawn at first, and that each request for older ones adds.
const pageSize = 40;
// Least time between two requests of one search while entries arrive, in milliseconds.
const renewMillis = 500;

// The list of entries that the address asks for.
export class Search {
  constructor(state, timeline, activity) {
    Object.assign(this, { state, timeline, activity, field: byID("search-text"), answer: byID("search-answer") });
    // Draws all that depends on what was found, the phone included.
    this.redraw = () => this.draw();
    // `found`: entries that the search has found; null: there is no search. `text`: what was searched for.
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

  // The entry with an id, if the page has it: among the newest, or found by the search.
  known(id) { return this.state.entries.get(id) ?? this.found?.find((one) => one.id === id); }

  // Whether the search lists the newest event. `otherwise`: the answer while the search is still running.
  lists(newest, otherwise) {
    const { search, only, after } = read();
    if ((!search && !only) || newest.id <= Number(after)) return true;
    if (this.isBehind) return otherwise;
    return (!search || !this.found || this.found.some((one) => one.id === newest.id)) && (!only || newest.activity === this.activity());
  }

  // Whether entries have come that the search has not covered yet.
  get isBehind() { return this.text !== "" && (this.renewing !== undefined || this.asking > 0 || this.found === null); }

  // Forgets what was found, and searches again.
  clear() {
    Object.assign(this, { found: this.text ? [] : null, text: "", mayBeOlder: true });
    this.follow();
  }

  end() {
    this.field.value = "";
    this.type();
  }

  // Follows what somebody types. Back returns to what was shown before the first letter.
  type() {
    clearTimeout(this.typing);
    const text = this.field.value.trim();
    if (text === read().search) return;
    const isFirst = !this.isTyping;
    this.isTyping = true;
    go({ search: text, entry: "" }, isFirst);
    this.isTyping = true;
  }

  // Follows a change of the address.
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

  // Searches again, because something has come.
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
      // Ignore the answer if somebody has typed more meanwhile.
      if (this.text !== text) return;
      // Keep entries that the button "Older entries" has brought.
      const last = found.at(-1)?.id;
      this.found = isByHand || found.length < foundMax ? found : [...found, ...(this.found ?? []).filter((one) => one.id < last)];
      say(this.answer, "");
    } catch (error) {
      if (this.text !== text) return;
      this.found = [];
      say(this.answer, error.message, true);
    } finally { this.asking -= 1; }
    this.redraw();
    // Tell a screen reader once what was found.
    if (isByHand) byID("search-said").textContent = this.answer.textContent || byID("entry-count").textContent;
    this.openWhatIsLinked();
  }

  // Opens the entry if the search is a link to one push or entry. A push of an event is in the event's line.
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
    // A push is part of its event's line, and is not counted separately.
    const count = this.answer.textContent ? "" : this.found ? `${rows} found${isMore ? ", and older ones" : ""}` : rows ? `${rows}${isMore ? ", and older ones" : ""}` : "";
    if (byID("entry-count").textContent !== count) {
      byID("entry-count").textContent = count;
      byID("search-said").textContent = "";
    }
    this.drawNothing(rows ? "" : after ? "Nothing since it was cleared." : this.found ? `Nothing fits. ${this.limits()}` : activity ? "Nothing of this activity." : "Nothing yet. Publish an event, and you will see here what becomes of it.", !this.found && !activity);
    this.openUnlisted(Number(entry), known);
  }

  // What a search does not find.
  limits() {
    const { events, pushes } = this.state.unlisted ?? { events: 0, pushes: 0 };
    return !events && !pushes ? "mailboat dev knows only events of this run."
      : `${many(events, "event")} and ${many(pushes, "push", "pushes")} of this run came too fast to be listed, and what you look for may be among them: mailboat explain looks for an activity in Kafka.`;
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

  // Searches for the entry that the address names, if it is too old to be listed. Says so if the entry is gone.
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
