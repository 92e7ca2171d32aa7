// The token of a simulated phone: copied whole, or as the event that registers it.
import { el, ask, say } from "/elements.js";
import { write } from "/publish.js";

export function tokenButtons(phone, activity, said) {
  const button = (label, act) => el("button", { type: "button", class: "small", onclick: async () => {
    say(said, "");
    try {
      const { token } = await ask(`/api/phones/${phone}/token`);
      await act(token);
    } catch (error) { say(said, error.message, true); }
  } }, label);
  return [
    button("Copy the token", async (token) => {
      await navigator.clipboard.writeText(token);
      say(said, "The whole token is on the clipboard.");
    }),
    activity ? button("Write its register event", (token) => write(activity, { event: "register", token })) : null,
  ].filter(Boolean);
}
