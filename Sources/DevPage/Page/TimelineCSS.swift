/// The timeline and its search.
enum TimelineCSS {
    static let text = #"""
        #timeline:focus-visible { outline-offset: -3px; }
        #clear { margin-left: auto; }
        #search { display: flex; flex-wrap: wrap; align-items: center; gap: .375rem .75rem; width: 100%; }
        #search input[type="search"] { flex: 1 1 14rem; width: auto; min-width: 0; }
        #search-hint { display: none; width: 100%; }
        #search:focus-within + #search-hint { display: block; }
        #search-answer, #unlisted { width: 100%; }
        #unlisted:empty { display: none; }
        #nothing { display: grid; gap: .75rem; justify-items: start; }
        .entries { margin: -.75rem -.5rem 0; }
        .entries > li { border-top: 1px solid var(--line); }
        .entries > li:first-child { border-top: 0; }
        .entries summary { display: grid; grid-template-columns: 4.25rem minmax(0, 1fr); gap: 0 .75rem; padding: .5rem; list-style: none; }
        .entries summary::-webkit-details-marker { display: none; }
        .entries summary:hover, .entries details[open] > summary { background: var(--info-bg); }
        .entries summary:focus-visible { outline-offset: -3px; }
        .entries time { color: var(--muted); font-size: .8125rem; line-height: 1.85; font-variant-numeric: tabular-nums; }
        .entries summary:hover time, .entries summary:hover .says, .entries details[open] > summary time, .entries details[open] > summary .says { color: var(--text); }
        .entries .head { display: flex; flex-wrap: wrap; align-items: center; gap: .125rem .5rem; min-width: 0; }
        .entries .head .mono { min-width: 0; overflow-wrap: anywhere; }
        .entries .says { grid-column: 2; color: var(--muted); font-size: .9375rem; overflow-wrap: anywhere; }
        .entries .body { display: grid; gap: .75rem; padding: .75rem .5rem 1rem; min-width: 0; }
        @media (max-width: 39.99rem) {
          .entries summary { grid-template-columns: 3.75rem minmax(0, 1fr); gap: 0 .5rem; }
          .entries time { font-size: .75rem; }
          .entries .badge { padding: 0 .375rem; font-size: .75rem; }
          .entries .says { grid-column: 1 / -1; }
        }
        @media (min-width: 40rem) { .entries .body { padding-left: 5.5rem; } }
        .chain { display: grid; gap: .375rem; font-size: .9375rem; }
        .chain li { display: grid; grid-template-columns: 5rem minmax(0, 1fr); gap: .5rem; overflow-wrap: anywhere; }
        .chain b { font-weight: 600; }
        """#
}
