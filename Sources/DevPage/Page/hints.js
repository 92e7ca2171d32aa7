// Warnings before an event is published: about where it goes, and about whose token it holds.
import { phoneLabel } from "/phonelist.js";

const parse = (text) => { try { return JSON.parse(text); } catch { return null; } };

// Warns if an event would not reach the audience that its key names, or if `to` and the key differ.
function whereItGoes(event, key, audience) {
  const to = event.to?.audience ?? event.to?.channel;
  const kind = event.to?.audience === undefined ? "channel" : "audience";
  if (typeof to === "string" && to !== key) return `"to" names the ${kind} ${to}, and the key is ${key}: take the same for both, or take "to" away.`;
  if (!audience || event.to || !["start", "update", "end"].includes(event.event)) return "";
  return `${key} is an audience of ${audience.members.toLocaleString("en")} ${audience.members === 1 ? "phone" : "phones"}. Without "to": {"audience": ${JSON.stringify(key)}} this goes to an activity of the same name.`;
}

// Number of digits of a phone's token that the page knows.
const digits = 8;

// Warns if a token belongs to a phone of another activity. The phone would then show what is published for this key.
function whoseTokenItIs(event, key, phones) {
  if (event.event !== "register" || typeof event.token !== "string" || event.token.length < digits) return "";
  const owners = phones.filter((phone) => phone.activity && phone.token.slice(0, digits) === event.token.slice(0, digits).toLowerCase());
  if (!owners.length || owners.some((phone) => phone.activity === key && !phone.member)) return "";
  return `This token is the one of phone ${owners[0].id} (${phoneLabel(owners[0])}). Registered for ${key || "another key"}, that phone shows what is published there.`;
}

// The warnings about an event. `audience` has the key as its name; undefined: there is no such audience. `phones` are the listed phones.
export function warnings(key, text, audience, phones) {
  const event = parse(text);
  if (event === null || typeof event !== "object") return "";
  return [whereItGoes(event, key, audience), whoseTokenItIs(event, key, phones)].filter(Boolean).join(" ");
}
