import { el, byID, say } from "/page/elements.js";

const spacingMillis = 3000;
// A worker has at most as many partitions as there are; more rows than these nobody reads.
const rowsMax = 256;
let token = "";
try { token = sessionStorage.getItem("mailboat-token") ?? ""; } catch { /* not allowed: it is asked for again */ }
let last = null;

async function ask(path, type = "json") {
  const answer = await fetch(path, { headers: token ? { authorization: `Bearer ${token}` } : {} });
  const text = await answer.text();
  if (answer.ok) return type === "json" ? JSON.parse(text) : text;
  let told = text;
  try {
    const error = JSON.parse(text).error;
    told = error.remedy || error.kind;
  } catch { /* no JSON: the text is told */ }
  throw Object.assign(new Error(told || `${answer.status}`), { status: answer.status });
}

function status(text, name) {
  const line = byID("status");
  if (line.textContent !== text) line.textContent = text;
  line.className = name;
}

const whole = (number) => Number(number).toLocaleString("en");
const spell = (value) => value === undefined || value === null ? "—" : typeof value === "number" ? whole(value) : String(value);

function time(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return days ? `${days} d ${hours} h` : hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${seconds} s`;
}

// Series of one name, added up.
function sum(metrics, name, part = "") {
  let total = 0;
  let isThere = false;
  for (const line of metrics.split("\n")) {
    if (!line.startsWith(name) || !/[ {]/.test(line[name.length] ?? "") || !line.includes(part)) continue;
    total += Number(line.slice(line.lastIndexOf(" ") + 1));
    isThere = true;
  }
  return isThere ? total : null;
}

function table(caption, columns, rows) {
  return el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col" }, column)))),
    el("tbody", {}, rows.slice(0, rowsMax).map((row) => el("tr", {}, row.map((cell) => el("td", {}, spell(cell)))))));
}

// What did not change is not drawn again: a selection stays.
const drawn = new Map();
function fill(id, value, draw) {
  const text = JSON.stringify(value);
  if (drawn.get(id) === text) return;
  drawn.set(id, text);
  byID(id).replaceChildren(...draw(value));
}

function draw(worker, metrics, atMillis) {
  const accepted = sum(metrics, "mailboat_pushes_answered_total", 'result="accepted"');
  const consumed = sum(metrics, "mailboat_events_consumed_total");
  const per = (now, before) => last === null || now === null || before === null ? null : Math.max(0, Math.round((now - before) * 1000 / (atMillis - last.atMillis)));
  const rates = last ? [per(consumed, last.consumed), per(accepted, last.accepted)] : [null, null];
  last = { atMillis, accepted, consumed };
  const troubles = [...worker.errors, ...worker.degraded];
  if (worker.draining) status("It is stopping.", "waits");
  else if (worker.ready && !troubles.length) status("Ready", "good");
  else status(worker.ready ? `Ready, but: ${troubles.join("; ")}` : `Not ready: ${troubles.join("; ") || "it is not whole yet"}`, worker.ready ? "waits" : "bad");
  const work = worker.work;
  fill("work", [
    ["Events a second", rates[0]], ["Pushes accepted a second", rates[1]], ["Events taken", consumed], ["Events that wait", work["events-pending"]],
    ["Events merged", sum(metrics, "mailboat_events_merged_total")], ["Pushes accepted", accepted],
    ["Pushes refused", sum(metrics, "mailboat_pushes_answered_total", 'result="refused"')], ["Pushes in flight", work["in-flight"]],
    ["Activities", work.activities], ["Members of audiences", work.members], ["Members that wait", work["members-waiting"]],
    ["Seconds until all have it", Math.round(work["fanout-drain-seconds"])],
    ["Dead letters", sum(metrics, "mailboat_events_outcomes_total", 'outcome="dead-lettered"')],
  ], (rows) => rows.map(([label, value]) => el("div", {}, el("dt", {}, label), el("dd", {}, spell(value)))));
  fill("troubles", troubles, (all) => all.map((one) => el("li", { class: "note warn" }, one)));
  const configuration = worker.configuration;
  fill("facts", [`Version ${worker.version}, up for ${time(worker["uptime-seconds"])}, configuration ${configuration.hash}` +
    (configuration["last-taken"] === false ? "; the last configuration given was not taken" : "") +
    (configuration["awaiting-restart"]?.length ? `; a restart is needed for ${configuration["awaiting-restart"].join(", ")}` : "") + "."], (text) => text);
  const partitions = worker.partitions;
  const more = partitions.length > rowsMax ? `, the first ${rowsMax} of them` : "";
  fill("partitions", partitions.map((one) => [one.number, one.shard, one.phase, one["restored-records"] === undefined ? "" : `${whole(one["restored-records"])} of ${whole(one["restore-records-max"])}`, one["lag-records"], one.reason ?? ""]),
    (rows) => [table(`${partitions.length} of ${spell(worker["partition-count"])} are here${more}`, ["partition", "shard", "phase", "records restored", "lag", "halted because"], rows)]);
  fill("routes", worker.routes.map((one) => [one.name, one.shard, one.peer, one["connections-open"], one["connections-connecting"], one["in-flight"], one.trouble ?? ""]),
    (rows) => [table(`${rows.length} routes`, ["route", "shard", "peer", "open", "connecting", "in flight", "trouble"], rows)]);
}

async function look() {
  if (document.hidden) return;
  try {
    const [worker, metrics] = await Promise.all([ask("/status"), ask("/metrics", "text")]);
    byID("token-panel").hidden = true;
    byID("worker").hidden = false;
    draw(worker, metrics, Date.now());
  } catch (error) {
    last = null;
    if (error.status === 401) {
      byID("worker").hidden = true;
      byID("token-panel").hidden = false;
      status(token ? "The worker does not take this token." : "The worker wants a token.", "waits");
    } else status(error.status ? error.message : "Nobody answers. Trying again …", "bad");
  }
}

byID("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byID("token").value.trim();
  byID("token").value = "";
  try { sessionStorage.setItem("mailboat-token", token); } catch { /* not allowed: it is asked for again */ }
  look();
});
byID("lookup").addEventListener("submit", async (event) => {
  event.preventDefault();
  const app = byID("lookup-app").value.trim();
  try {
    const found = await ask(`/${byID("lookup-kind").value}/${encodeURIComponent(byID("lookup-id").value)}${app ? `?app=${encodeURIComponent(app)}` : ""}`);
    say(byID("lookup-answer"), "");
    const wait = found["waits-for"];
    const then = wait?.["given-up-then"] ? "It is given up in" : "It may leave in";
    const until = wait?.["ends-in-millis"] === undefined ? "" : ` ${then} ${time(Math.ceil(wait["ends-in-millis"] / 1000))}.`;
    byID("lookup-found").replaceChildren(...(wait ? [el("p", {}, `The next push waits for ${wait.text}.${until}`)] : []), el("pre", { tabindex: 0, role: "region", "aria-label": "What the worker knows" }, JSON.stringify(found, null, 2)));
  } catch (error) {
    byID("lookup-found").replaceChildren();
    say(byID("lookup-answer"), error.message, true);
  }
});
look();
setInterval(look, spacingMillis);
