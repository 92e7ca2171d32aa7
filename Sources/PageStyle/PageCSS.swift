/// Colours, text and controls.
package enum PageCSS {
    /// A style sheet.
    package static let text = #"""
        :root {
          --bg: #f4f5f8; --panel: #ffffff; --text: #16181d; --muted: #525966; --line: #cfd3db; --field: #767d8a;
          --accent: #0b57c2; --on-accent: #ffffff;
          --good: #0a6237; --good-bg: #e1f4e8; --warn: #714500; --warn-bg: #fdf0d5;
          --bad: #a0141f; --bad-bg: #fde7e9; --info: #0b4a8f; --info-bg: #e6f0fd;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --bg: #101216; --panel: #1a1d23; --text: #eceef2; --muted: #aab1bd; --line: #373d48; --field: #858d9b;
            --accent: #8ab8ff; --on-accent: #0b1a33;
            --good: #7fe0a8; --good-bg: #12301f; --warn: #ffcf7a; --warn-bg: #3a2a08;
            --bad: #ff9fa6; --bad-bg: #3d1519; --info: #9cc6ff; --info-bg: #12294a;
          }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        html { -webkit-text-size-adjust: 100%; }
        body { margin: 0; background: var(--bg); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
        h1, h2, h3, p, ul, ol, dl, dd, pre, table { margin: 0; padding: 0; }
        ul, ol { list-style: none; }
        h2 { font-size: 1.125rem; line-height: 1.3; }
        h3 { font-size: .9375rem; line-height: 1.4; }
        a { color: var(--accent); }
        code, pre, textarea, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; font-size: .875rem; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .skip { position: absolute; left: -999rem; }
        .sr { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        .skip:focus { left: .5rem; top: .5rem; z-index: 2; background: var(--panel); padding: .5rem 1rem; border-radius: .5rem; }
        .bar { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; padding: .75rem 1rem; border-bottom: 1px solid var(--line); background: var(--panel); }
        .bar h1 { font-size: 1.25rem; line-height: 1.3; }
        .bar h1 span { color: var(--muted); font-weight: 400; }
        .bar p { color: var(--muted); font-size: .9375rem; }
        .bar p.bad { color: var(--bad); }
        .bar p.good::before, .bar p.waits::before, .bar p.bad::before { content: "● "; }
        .bar p.good::before { color: var(--good); }
        .bar p.waits::before { color: var(--warn); }
        main.single { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem; max-width: 72rem; margin: 0 auto; }
        .work { display: grid; gap: 1rem; align-content: start; min-width: 0; }
        .panel { display: grid; gap: .75rem; min-width: 0; background: var(--panel); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem; }
        label { font-size: .875rem; font-weight: 600; }
        label.check { font-weight: 400; display: inline-flex; align-items: center; gap: .375rem; }
        input, select, textarea { width: 100%; min-height: 2.5rem; padding: .375rem .625rem; font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--field); border-radius: .5rem; }
        input[type="checkbox"] { width: 1.125rem; min-height: 1.125rem; height: 1.125rem; padding: 0; accent-color: var(--accent); }
        textarea { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace; resize: vertical; }
        ::placeholder { color: var(--muted); opacity: 1; }
        button { min-height: 2.5rem; padding: .375rem .875rem; font: inherit; font-weight: 600; color: var(--accent); background: transparent; border: 1px solid var(--accent); border-radius: .5rem; cursor: pointer; }
        button:hover { background: var(--info-bg); }
        button.main { color: var(--on-accent); background: var(--accent); }
        button.main:hover { filter: brightness(1.1); }
        button.small { min-height: 2rem; padding: .125rem .625rem; font-size: .875rem; }
        form { display: grid; gap: .5rem; }
        form.inline { grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; }
        @media (max-width: 34rem) {
          form.inline { grid-template-columns: minmax(0, 1fr) auto; }
          form.inline > label:first-child, form.inline > label.check { grid-column: 1 / -1; }
        }
        .fields { display: grid; gap: .5rem 1rem; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); }
        .row { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; }
        .hint { color: var(--muted); font-size: .875rem; }
        .answer { font-size: .9375rem; overflow-wrap: anywhere; }
        .answer:empty { display: none; }
        .answer.good, .answer.bad, .note { padding: .5rem .75rem; border-radius: .5rem; }
        .good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); } .info { color: var(--info); }
        .answer.good { background: var(--good-bg); } .answer.bad { background: var(--bad-bg); }
        .note { font-size: .9375rem; overflow-wrap: anywhere; }
        .note.good { background: var(--good-bg); } .note.warn { background: var(--warn-bg); }
        .note.bad { background: var(--bad-bg); } .note.info { background: var(--info-bg); }
        .badge { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600; line-height: 1.6; white-space: nowrap; }
        .badge.good { background: var(--good-bg); } .badge.warn { background: var(--warn-bg); }
        .badge.bad { background: var(--bad-bg); } .badge.info { background: var(--info-bg); }
        summary { cursor: pointer; border-radius: .375rem; }
        pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--bg); border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .75rem; }
        .snippet { display: grid; gap: .375rem; margin-top: .75rem; }
        .snippet .row { justify-content: space-between; }
        table { width: 100%; border-collapse: collapse; font-size: .875rem; }
        caption { text-align: left; font-weight: 600; padding-bottom: .25rem; }
        th, td { text-align: left; vertical-align: top; padding: .25rem .5rem .25rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
        thead th { border-top: 0; color: var(--muted); font-weight: 600; }
        .wide { min-width: 0; overflow-x: auto; }
        .wide th, .wide td { overflow-wrap: break-word; font-variant-numeric: tabular-nums; }
        .wide td.mono { overflow-wrap: anywhere; }
        .numbers { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .75rem; }
        .numbers dt { color: var(--muted); font-size: .875rem; line-height: 1.35; }
        .numbers dd { font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
        .empty { color: var(--muted); }
        """#
}
