// Buttons for what can be done about a push that did not arrive.
import { el, ask, say } from "/elements.js";
import { publishAgain } from "/entry.js";

const happens = (phone, action) => ask(`/api/phones/${phone.id}/${action}`, { method: "POST" });

// A button for each remedy that the server may name.
const remedies = {
  "register-token": { label: (phone) => phone.hasUntoldToken ? "Register the new token" : "Register its token again", act: (phone) => happens(phone, "register-token") },
  "renew-token": { label: () => "Give it a new token, and register that", act: async (phone) => {
    await happens(phone, "change-token");
    await happens(phone, "register-token");
  } },
  "unregister": { label: () => "Publish unregister, as the server does", act: (phone) => happens(phone, "unregister") },
  "send-again": { label: () => "Send the event again", act: (phone, remedy, said) => publishAgain(remedy.entry, said) },
  "copy-swift": { label: () => "Copy a Swift type for this content", act: async (phone, remedy, said) => {
    const copies = await ask(`/api/entries/${remedy.entry}/copies`);
    await navigator.clipboard.writeText(copies.swift);
    say(said, "A Swift type that decodes this content is on the clipboard.");
  } },
};

export function remedyButtons(phone, said) {
  return phone.verdict.remedies.filter((remedy) => remedies[remedy.action]).map((remedy) => {
    const { label, act } = remedies[remedy.action];
    return el("button", { type: "button", class: "small", onclick: async () => {
      say(said, "");
      try { await act(phone, remedy, said); } catch (error) { say(said, error.message, true); }
    } }, label(phone));
  });
}
