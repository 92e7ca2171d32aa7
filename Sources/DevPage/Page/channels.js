// Draws broadcast channels, and makes new ones.
import { el, byID, ask, say } from "/elements.js";

const ofChannel = (path, id) => ask(path, { method: "POST", body: JSON.stringify({ channel: id }) });

export class ChannelsPanel {
  constructor(write) {
    this.write = write;
    this.said = byID("new-channel-answer");
    byID("new-channel").addEventListener("submit", (event) => {
      event.preventDefault();
      this.act(async () => {
        const made = await ask("/api/channels", { method: "POST", body: JSON.stringify({ storage: byID("new-channel-storage").value }) });
        await ofChannel("/api/channels/listeners", made.channel);
        return `The channel ${made.channel} was made, and a phone listens.`;
      });
    });
  }

  async act(body) {
    try { say(this.said, await body()); } catch (error) { say(this.said, error.message, true); }
  }

  draw(channels) {
    const text = JSON.stringify(channels);
    if (text === this.drawn) return;
    this.drawn = text;
    const focused = document.activeElement?.dataset?.channelAct;
    const list = byID("channel-list");
    const button = (label, name, channel, act) => el("button", { type: "button", class: "small", "data-channel-act": `${name} ${channel.id}`, onclick: act }, label);
    list.replaceChildren(...channels.map((channel) => el("li", {},
      el("p", { class: "mono wrap" }, channel.id),
      el("p", { class: "hint" }, `${channel.listeners} ${channel.listeners === 1 ? "phone listens" : "phones listen"}, ${channel.broadcasts} ${channel.broadcasts === 1 ? "broadcast" : "broadcasts"}, ` +
        (channel.storage === "none" ? "keeps nothing for phones that are away" : channel.stored ? "keeps its newest for phones that are away" : "would keep its newest for phones that are away")),
      channel.contentState === null ? null : el("p", { class: "mono wrap" }, JSON.stringify(channel.contentState)),
      el("div", { class: "row", role: "group", "aria-label": `Channel ${channel.id}` },
        button("Write an event for it", "write", channel, () => this.write(channel)),
        button("One more phone listens", "listen", channel, () => this.act(async () => {
          const made = await ofChannel("/api/channels/listeners", channel.id);
          return `Phone ${made.phone} listens.`;
        })),
        button("Delete it", "delete", channel, () => this.act(async () => {
          await ofChannel("/api/channels/delete", channel.id);
          return "The channel was deleted.";
        }))))));
    if (focused) list.querySelector(`[data-channel-act="${CSS.escape(focused)}"]`)?.focus();
  }
}
