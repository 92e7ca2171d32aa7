import PageStyle

/// The structure of the page on the admin port. Everything that changes is drawn by the script.
enum WorkerPageHTML {
    static let text = #"""
        \#(PageHead.text(title: "Mailboat worker"))
        <link rel="stylesheet" href="/page/style.css">
        <script type="module" src="/page/worker.js"></script>
        </head>
        <body>
        <header class="bar">
          <h1>Mailboat <span>worker</span></h1>
          <p id="status" role="status">Connecting …</p>
        </header>
        <main class="single">
          <section class="panel" id="token-panel" aria-labelledby="token-title" hidden>
            <h2 id="token-title">Token</h2>
            <form id="token-form" class="inline">
              <label for="token">Content of admin.token-file</label>
              <input id="token" type="password" autocomplete="off" required>
              <button type="submit" class="main">Show the worker</button>
            </form>
            <p class="hint">It is kept as long as this tab is open, and sent with each question.</p>
          </section>
          <div id="worker" class="work" hidden>
            <section class="panel" aria-labelledby="work-title">
              <h2 id="work-title">Its work</h2>
              <dl id="work" class="numbers"></dl>
              <ul id="troubles"></ul>
              <p id="facts" class="hint"></p>
            </section>
            <section class="panel" aria-labelledby="partitions-title">
              <h2 id="partitions-title">Partitions</h2>
              <div id="partitions" class="wide"></div>
            </section>
            <section class="panel" aria-labelledby="routes-title">
              <h2 id="routes-title">Connections to APNs</h2>
              <div id="routes" class="wide"></div>
            </section>
            <section class="panel" aria-labelledby="lookup-title">
              <h2 id="lookup-title">What it knows</h2>
              <form id="lookup">
                <div class="fields">
                  <p><label for="lookup-kind">Of</label>
                    <select id="lookup-kind"><option value="activities">an activity</option><option value="audiences">an audience</option></select></p>
                  <p><label for="lookup-id">Its id</label>
                    <input id="lookup-id" autocomplete="off" maxlength="256" required></p>
                  <p><label for="lookup-app">App, where two have the same id</label>
                    <input id="lookup-app" autocomplete="off" maxlength="155"></p>
                </div>
                <div class="row"><button type="submit" class="main">Look</button></div>
              </form>
              <p id="lookup-answer" class="answer" role="status"></p>
              <div id="lookup-found"></div>
            </section>
          </div>
        </main>
        <noscript><p class="answer bad">This page is drawn by JavaScript. <a href="/status">The same as JSON</a></p></noscript>
        </body>
        </html>
        """#
}
