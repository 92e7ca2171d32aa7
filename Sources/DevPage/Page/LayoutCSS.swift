/// The window: columns beside each other that scroll by themselves, or one below tabs.
enum LayoutCSS {
    static let text = #"""
        /* Where there is room, the window is as high as the page, and each column scrolls by itself; nothing in a column scrolls. */
        .bar { padding: .5rem 1rem; }
        #main { display: grid; }
        .column { display: grid; gap: .75rem; align-content: start; min-width: 0; padding: 0 1rem 1rem; }
        .column > .head { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center; gap: .375rem .75rem; margin: 0 -1rem; padding: .625rem 1rem; background: var(--bg); }
        #phones > .head { margin-bottom: -.375rem; padding-bottom: .375rem; }
        #tools { padding-top: .75rem; }
        #tools > section { display: grid; gap: .75rem; min-width: 0; }
        #tabs { display: flex; flex-wrap: wrap; background: var(--panel); border-bottom: 1px solid var(--line); padding: 0 .375rem; }
        #tabs a { padding: .625rem .5rem .5rem; font-size: .875rem; line-height: 1.25rem; color: var(--muted); text-decoration: none; border-bottom: 3px solid transparent; }
        #tabs a:hover { color: var(--text); }
        #tabs a[aria-current] { color: var(--text); font-weight: 600; border-bottom-color: var(--accent); }
        #tabs a:focus-visible { outline-offset: -3px; }
        #newest { padding: .5rem 1rem; border-bottom: 1px solid var(--line); background: var(--panel); font-size: .9375rem; }
        .head > #newest { flex: 1 0 100%; margin: 0 -1rem -.625rem; border-top: 1px solid var(--line); }
        #newest a { display: block; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
        #newest .says { display: block; color: var(--muted); }
        textarea { field-sizing: content; min-height: 8rem; }
        details > summary { padding: .125rem 0; font-size: .9375rem; }
        @media (max-width: 51.99rem) {
          #tabs { position: sticky; top: 0; z-index: 2; display: grid; grid-template-columns: repeat(4, 1fr); }
          #tabs a { padding: .5rem .125rem .375rem; text-align: center; font-size: .8125rem; }
          #newest { position: sticky; top: calc(4.25rem + 7px); z-index: 2; }
          .column > .head { position: static; }
        }
        @media (min-width: 52rem) {
          body { display: grid; grid-template-rows: auto minmax(0, 1fr); height: 100vh; height: 100dvh; overflow: hidden; }
          #main { min-height: 0; grid-template-columns: 22rem minmax(0, 1fr); grid-template-rows: auto auto minmax(0, 1fr); grid-template-areas: "phones tabs" "phones newest" "phones view"; }
          #tabs { grid-area: tabs; }
          #newest { grid-area: newest; }
          #phones { grid-area: phones; border-right: 1px solid var(--line); }
          #timeline, #tools { grid-area: view; }
          .column { min-height: 0; overflow-y: auto; scrollbar-gutter: stable; }
        }
        @media (min-width: 72rem) {
          #main { grid-template-columns: 22rem minmax(0, 1fr) 26rem; grid-template-rows: auto minmax(0, 1fr); grid-template-areas: "phones timeline tabs" "phones timeline tools"; }
          #timeline { grid-area: timeline; background: var(--panel); }
          #timeline > .head { background: var(--panel); }
          #tabs { flex-wrap: nowrap; border-left: 1px solid var(--line); }
          #tabs a { padding: .75rem .375rem .5rem; }
          #tools { grid-area: tools; border-left: 1px solid var(--line); }
        }
        """#
}
