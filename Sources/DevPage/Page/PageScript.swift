import PushInspection

/// Follows the state and draws what changed. Decides nothing: what things mean is said by the server.
enum PageScript {
    static let text = #"""
        import { el, byID, ask, say } from "/elements.js";
        import { PhonePanel, drawPhoneList } from "/phones.js";
        import { Timeline } from "/timeline.js";
        import { BudgetPanel } from "/budget.js";
        import { AudiencesPanel } from "/audiences.js";
        import { ChannelsPanel } from "/channels.js";
        import { FaultsPanel } from "/faults.js";
        import { prepareTemplates } from "/templates.js";
        import { SchemasPanel } from "/schemas.js";
        import { preparePublishing, drawAbout, writeForAudience, writeForChannel } from "/publish.js";

        // So many entries an answer has at most.
        const foundMax = \#(Timeline.entriesPerAnswerMax);
        // `isFound`: the search that stands in the field was understood, and what it found is drawn.
        const state = { run: "", phones: new Map(), entries: new Map(), ready: false, trouble: [], chosen: 0, choseByHand: false, found: null, isFound: false };
        const panel = new PhonePanel(byID("phone"));
        const timeline = new Timeline(byID("entries"), async (id) => {
          try {
            await ask(`/api/entries/${id}/replay`, { method: "POST" });
            say(byID("search-answer"), `Event ${id} was published again.`);
          } catch (error) { say(byID("search-answer"), error.message, true); }
        }, (rows, drawn) => {
          // A push stands behind its event, and is counted with that.
          if (!state.isFound) return;
          const left = state.found.length === foundMax ? "; there may be older ones" : "";
          say(byID("search-answer"), drawn < rows ? `${rows} found, the newest ${drawn} are listed${left}` : `${rows} found${left}`);
        });

        const audiences = new AudiencesPanel(writeForAudience);
        const channels = new ChannelsPanel(writeForChannel);
        const budget = new BudgetPanel(byID("budget"), "activity");
        const schemas = new SchemasPanel(() => state.phones.get(state.chosen));
        const faults = new FaultsPanel(() => state.chosen);

        function apply(change) {
          if (change.run !== state.run) {
            // Another process answers: what is shown here is not its.
            // At the first answer, what the page's address asks for stays.
            if (state.run) Object.assign(state, { chosen: 0, choseByHand: false, found: null, isFound: false });
            state.run = change.run;
            state.phones.clear();
            state.entries.clear();
            audiences.clear();
            ask("/api/about").then((about) => { drawAbout(about); schemas.take(about.apps); }).catch((error) => status(error.message, "bad"));
          }
          const known = new Set(change.phoneIDs);
          for (const id of state.phones.keys()) if (!known.has(id)) state.phones.delete(id);
          for (const phone of change.phones) {
            if (!state.phones.has(phone.id) && !state.choseByHand) state.chosen = phone.id;
            state.phones.set(phone.id, phone);
          }
          for (const id of state.entries.keys()) if (id < change.firstEntry) state.entries.delete(id);
          for (const entry of change.entries) state.entries.set(entry.id, entry);
          Object.assign(state, { ready: change.ready, trouble: change.trouble });
          draw();
          audiences.take(change.audiences);
          channels.draw(change.channels);
          faults.draw(change.faults);
          panel.canListen = change.channels.length > 0;
          drawUnlisted(change);
          if (byID("search-text").value.trim()) searchSoon();
        }

        const count = (number) => number.toLocaleString("en");

        function drawUnlisted({ sampling, unlisted: { events, pushes } }) {
          const isSample = sampling.isSample;
          const text = [
            isSample ? `This is a sample: ${count(sampling.events)} events and ${count(sampling.pushes)} pushes came in the last second. ` +
              `The list has all of these activities (${count(sampling.activities)}): the newest phones’, and what you look at or search for with activity:.` : "",
            events + pushes ? `${count(events)} events and ${count(pushes)} pushes came too fast to be listed here.` : "",
          ].filter(Boolean).join(" ");
          const place = byID("unlisted");
          if (place.textContent !== text) place.textContent = text;
          place.className = isSample ? "note warn" : "hint";
        }

        function status(text, name) {
          const line = byID("status");
          if (line.textContent !== text) line.textContent = text;
          line.className = name;
        }

        function draw() {
          if (state.trouble.length) status(state.trouble.join("; "), "bad");
          else if (!state.ready) status("The worker joins its consumer group, which takes a few seconds. Events wait.", "waits");
          else status(`Ready. ${state.phones.size} phone${state.phones.size === 1 ? "" : "s"}, ${state.entries.size} entries`, "good");
          const phones = [...state.phones.values()].sort((a, b) => a.id - b.id);
          if (state.run && !state.phones.has(state.chosen)) Object.assign(state, { chosen: phones.at(-1)?.id ?? 0, choseByHand: false });
          drawPhoneList(phones, state.chosen, choose);
          const phone = state.phones.get(state.chosen);
          if (phone) panel.draw(phone); else panel.clear();
          budget.follow(phone?.activity ?? "", phone?.lastPush ?? 0);
          drawEntries();
        }

        function choose(id) {
          Object.assign(state, { chosen: id, choseByHand: true });
          const activity = state.phones.get(id)?.activity;
          if (activity) byID("publish-activity").value = activity;
          draw();
        }

        function drawEntries() {
          const activity = state.phones.get(state.chosen)?.activity ?? "";
          const isOnly = byID("search-only").checked && activity !== "";
          const all = state.found ?? [...state.entries.values()].sort((a, b) => b.id - a.id);
          const entries = new Map([...(state.found ?? []).map((entry) => [entry.id, entry]), ...state.entries]);
          timeline.draw(isOnly ? all.filter((entry) => entry.activity === activity) : all, entries);
        }

        let waitingSearch;
        function searchSoon() {
          clearTimeout(waitingSearch);
          waitingSearch = setTimeout(search, 200);
        }

        async function search() {
          const text = byID("search-text").value.trim();
          const answer = byID("search-answer");
          if (!text) {
            Object.assign(state, { found: null, isFound: false });
            say(answer, "");
            drawEntries();
            return;
          }
          try {
            const found = await ask(`/api/entries?search=${encodeURIComponent(text)}`);
            // Somebody has typed on meanwhile.
            if (byID("search-text").value.trim() !== text) return;
            Object.assign(state, { found, isFound: true });
          } catch (error) {
            Object.assign(state, { found: [], isFound: false });
            say(answer, error.message, true);
          }
          drawEntries();
        }

        async function numbers() {
          if (document.hidden) return;
          try {
            const rows = await ask("/api/numbers");
            byID("numbers").replaceChildren(...rows.map((row) => el("div", { title: row.metric }, el("dt", {}, row.label), el("dd", {}, row.value))));
          } catch { /* the status line says that nobody answers */ }
        }

        // Links lead to a search or a phone: #search=push:ID, #phone=3. What is behind the entry found is opened.
        async function goToLink() {
          const link = new URLSearchParams(location.hash.slice(1));
          const phone = Number(link.get("phone"));
          if (phone) choose(phone);
          const text = link.get("search");
          if (text === null) return;
          byID("search-text").value = text;
          byID("search-only").checked = false;
          await search();
          byID("timeline").scrollIntoView();
          // A push that belongs to an event is behind that.
          const target = state.found?.find((entry) => entry.type === "event") ?? state.found?.[0];
          if (target) timeline.jump(target.id);
        }

        function follow() {
          const source = new EventSource("/api/stream");
          source.onmessage = (event) => apply(JSON.parse(event.data));
          source.onerror = () => {
            status("Nobody answers. Is mailboat dev still running? Trying again …", "bad");
            // The browser tries again by itself, unless it was refused.
            if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
          };
        }

        byID("search").addEventListener("submit", (event) => { event.preventDefault(); search(); });
        byID("search-text").addEventListener("input", searchSoon);
        byID("search-only").addEventListener("change", drawEntries);
        preparePublishing();
        prepareTemplates();
        panel.clear();
        window.addEventListener("hashchange", goToLink);
        goToLink();
        follow();
        numbers();
        setInterval(numbers, 3000);
        """#
}
