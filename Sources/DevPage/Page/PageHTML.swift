import PageStyle

/// The page's structure. Everything that changes is drawn by the scripts.
enum PageHTML {
    static let text = #"""
        \#(PageHead.text(title: "Mailboat dev"))
        <link rel="stylesheet" href="/page.css">
        <link rel="stylesheet" href="/layout.css">
        <link rel="stylesheet" href="/timeline.css">
        <link rel="stylesheet" href="/phones.css">
        <link rel="stylesheet" href="/audiences.css">
        <link rel="stylesheet" href="/budget.css">
        <script type="module" src="/page.js"></script>
        </head>
        <body>
        <a class="skip" id="skip" href="#tab=timeline">Skip to the timeline</a>
        <header class="bar">
          <h1>Mailboat <span>dev</span></h1>
          <p id="status" role="status">Connecting …</p>
        </header>
        <main id="main">
          <nav id="tabs" aria-label="Views"></nav>
          <div id="newest" hidden></div>
          <section id="phones" class="column" data-view="phone" aria-labelledby="phones-title" hidden>
            <div class="head"><h2 id="phones-title">Phones</h2> <p id="phone-counts" class="hint"></p></div>
            <ul id="phone-list" class="chips"></ul>
            <details id="quiet-phones" hidden><summary id="quiet-title"></summary><ul id="quiet-list" class="chips"></ul></details>
            <div id="phone"></div>
            <div id="budget" hidden></div>
            <details id="new-phone"><summary>Add a phone</summary>
              <form id="new-activity" class="inline">
                <label for="new-activity-id">New activity</label>
                <input id="new-activity-id" name="activity" autocomplete="off" maxlength="256" required>
                <button type="submit">Add a phone</button>
              </form>
            </details>
            <p id="new-activity-answer" class="answer" role="status"></p>
          </section>
          <section id="timeline" class="column" data-view="timeline" tabindex="-1" aria-labelledby="timeline-title" hidden>
            <div class="head">
              <h2 id="timeline-title">Timeline</h2> <p id="entry-count" class="hint"></p>
              <button type="button" class="small" id="clear">Clear</button>
              <form id="search" role="search">
                <label class="sr" for="search-text">Search</label>
                <input id="search-text" type="search" autocomplete="off" maxlength="512" placeholder="Press / to search: is:ignored status:410 Anne" aria-describedby="search-hint search-answer">
                <label class="check"><input id="search-only" type="checkbox"> only this phone’s activity</label>
              </form>
              <p id="search-hint" class="hint">app: activity: event: is: status: phone: push: entry: or words; a minus in front means not</p>
              <p id="search-answer" class="answer"></p>
              <p id="search-said" class="sr" role="status"></p>
              <p id="unlisted" class="hint"></p>
            </div>
            <ol id="entries" class="entries"></ol>
            <p id="nothing" class="empty" hidden></p>
            <div class="row" id="more"><button type="button" class="small" id="older" hidden>Older entries</button> <button type="button" class="small" id="uncleared" hidden>Show what was cleared</button></div>
          </section>
          <div id="tools" class="column">
            <section data-view="publish" aria-labelledby="publish-title" hidden>
              <h2 id="publish-title">Publish</h2>
              <form id="publish">
                <p><label for="publish-activity">Activity, the record’s key</label>
                  <input id="publish-activity" autocomplete="off" maxlength="256" required></p>
                <p><label for="publish-sample">Begin with</label>
                  <select id="publish-sample"></select></p>
                <label for="publish-event">Event</label>
                <textarea id="publish-event" rows="9" spellcheck="false" autocapitalize="off" aria-describedby="publish-hint publish-answer" required></textarea>
                <div class="row">
                  <button type="submit" class="main">Publish</button>
                  <span id="publish-hint" class="hint">or Ctrl + Enter in the text</span>
                </div>
                <p id="publish-answer" class="answer" role="status"></p>
              </form>
              <details id="snippets"><summary>From a terminal or a test</summary><div id="snippet-list"></div></details>
            </section>
            <section data-view="audiences" aria-labelledby="audiences-title" hidden>
              <h2 id="audiences-title">Audiences</h2>
              <form id="new-members">
                <p><label for="new-members-audience">Audience</label>
                  <input id="new-members-audience" autocomplete="off" maxlength="256" value="match-7" required></p>
                <p><label for="new-members-count">Phones</label>
                  <input id="new-members-count" type="number" min="1" max="5000" value="500" required></p>
                <p><label for="new-members-kind">Join with</label>
                  <select id="new-members-kind"><option value="update">update tokens</option><option value="start">push-to-start tokens</option></select></p>
                <button type="submit">Let them join</button>
              </form>
              <p id="new-members-answer" class="answer" role="status"></p>
              <ul id="audience-list" class="chips"></ul>
              <div id="audience"></div>
            </section>
            <section data-view="channels" aria-labelledby="channels-title" hidden>
              <h2 id="channels-title">Broadcast channels</h2>
              <form id="new-channel" class="row">
                <label for="new-channel-storage">For phones that are away it keeps</label>
                <select id="new-channel-storage"><option value="none">nothing</option><option value="most-recent">the newest message</option></select>
                <button type="submit">Make a channel</button>
              </form>
              <p id="new-channel-answer" class="answer wrap" role="status"></p>
              <ul id="channel-list" class="channels"></ul>
            </section>
            <section data-view="faults" aria-labelledby="faults-title" hidden>
              <h2 id="faults-title">Faults of APNs</h2>
              <ul id="fault-list" class="plain"></ul>
              <p class="row"><label for="fault-count">Requests that it happens to</label>
                <input id="fault-count" type="number" min="1" max="10000" value="5"></p>
              <div id="fault-buttons" class="row" role="group" aria-label="Let something go wrong"></div>
              <p id="fault-answer" class="answer" role="status"></p>
            </section>
            <section data-view="app" aria-labelledby="app-title" hidden>
              <h2 id="app-title">Your app</h2>
              <form id="schema-form">
                <h3>Decode as your app does</h3>
                <p id="schema-app-row" hidden><label for="schema-app">App</label>
                  <select id="schema-app"></select></p>
                <label for="schema-text">A JSON Schema, or a sample of a content-state</label>
                <textarea id="schema-text" rows="8" spellcheck="false" autocapitalize="off" aria-describedby="schema-hint schema-answer" required></textarea>
                <p id="schema-hint" class="hint">What does not fit shows nothing, as on a phone. All keys of a sample are required; one that is null may be missing.</p>
                <div class="row"><button type="submit" class="small">Use it</button> <button type="button" class="small" id="schema-card">Begin with this card</button>
                  <button type="button" class="small" id="schema-none" hidden>Take it away</button></div>
                <p id="schema-answer" class="answer" role="status"></p>
              </form>
              <form id="template-form">
                <h3>Draw the cards your way</h3>
                <label for="template-text">Templates: which keys of the content stand where</label>
                <textarea id="template-text" rows="10" spellcheck="false" autocapitalize="off" aria-describedby="template-hint template-answer" required></textarea>
                <p id="template-hint" class="hint">The first that fits draws a card. “when” may name activity, attributes-type and keys; “timer” is a Date, seconds since 2001.</p>
                <div class="row"><button type="submit" class="small">Use these</button> <button type="button" class="small" id="template-none">Use none</button></div>
                <p id="template-answer" class="answer" role="status"></p>
              </form>
            </section>
            <section data-view="numbers" aria-labelledby="numbers-title" hidden>
              <h2 id="numbers-title">The worker’s numbers</h2>
              <dl id="numbers" class="numbers"></dl>
              <p id="worker-page" hidden><a href="/">The worker’s own page</a></p>
              <p><a href="/metrics">All of them, as Prometheus reads them</a></p>
            </section>
          </div>
        </main>
        <noscript><p class="answer bad">This page is drawn by JavaScript. <a href="/api/state">The same as JSON</a></p></noscript>
        </body>
        </html>
        """#
}
