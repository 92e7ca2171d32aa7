/// The phones: a Lock Screen and the Dynamic Island. A card is as dark in the light as in the dark, as on a phone with a dark wallpaper.
enum PhonesCSS {
    static let text = #"""
        .chips { display: flex; flex-wrap: wrap; gap: .375rem; }
        .chips:empty { display: none; }
        #phones .chips { display: grid; gap: .25rem; }
        #phones .chips button { justify-content: space-between; width: 100%; }
        .chips button { display: inline-flex; align-items: center; gap: .5rem; max-width: 100%; min-height: 2rem; padding: .125rem .625rem; color: var(--text); border-color: var(--field); font-size: .9375rem; font-weight: 400; overflow-wrap: anywhere; text-align: left; }
        .chips button[aria-pressed="true"] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); font-weight: 600; }
        #quiet-phones[open] > summary { margin-bottom: .375rem; }
        #phone { display: grid; gap: .75rem; }
        .device { position: relative; width: 100%; max-width: 22rem; margin: 0 auto; padding: .75rem; border-radius: 2.75rem; background: #0b0c10; border: 1px solid #4a4f5a; }
        .screen { display: grid; gap: .75rem; align-content: start; min-height: 24rem; padding: .75rem .75rem 1.5rem; border-radius: 2.125rem; color: #ffffff;
          background: linear-gradient(160deg, #1f2b4d, #3a2a5c 55%, #5a2c52); }
        .away .screen { background: #26282e; }
        .lock-time { text-align: center; font-size: 3.25rem; font-weight: 300; line-height: 1.1; font-variant-numeric: tabular-nums; }
        .lock-date { text-align: center; font-size: .9375rem; }
        .island { background: #000000; color: #ffffff; border-radius: 2rem; }
        .compact { display: grid; grid-template-columns: 1fr 1.75rem 1fr; align-items: center; justify-self: center; min-width: 9rem; max-width: 100%; min-height: 2rem; padding: 0 .875rem; font-size: .875rem; font-weight: 600; }
        .compact span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .compact span:last-child { text-align: right; color: #9fd0ff; }
        .minimal { display: grid; place-items: center; min-width: 2.5rem; height: 2.5rem; padding: 0 .5rem; font-size: .8125rem; font-weight: 600; justify-self: start; }
        .expanded { padding: 1rem 1.25rem 1.25rem; }
        .islands { display: grid; gap: .75rem; max-width: 22rem; width: 100%; margin: 0 auto; }
        .islands figure { margin: 0; display: grid; gap: .25rem; }
        .islands figcaption { color: var(--muted); font-size: .8125rem; }
        /* Both are cut where iOS cuts them: at 160 points. */
        .lock-card, .island.expanded { max-height: 160px; overflow: hidden; }
        .lock-card { padding: .875rem 1rem 1rem; border-radius: 1.375rem; background: #1d1e26; color: #ffffff; }
        .cut { font-size: .8125rem; text-align: center; }
        .islands .cut { color: var(--muted); text-align: left; }
        .lock-card.stale .face, .lock-card.ended .face { color: #c9cbd6; }
        .lock-empty { border: 1px dashed #b9bccb; border-radius: 1.375rem; padding: 1rem; text-align: center; font-size: .9375rem; }
        .card-state { margin-bottom: -.5rem; padding: 0 1rem; text-align: right; font-size: .8125rem; font-weight: 600; }
        .card-state.stale { color: #ffcf7a; } .card-state.ended { color: #b9d4ff; }
        .card-alert { padding: .625rem 1rem; border-radius: 1.375rem; background: #3d3f4d; font-size: .9375rem; overflow-wrap: anywhere; }
        .card-alert b { display: block; }
        .face .headline { font-size: 1.125rem; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }
        .face .sides { display: grid; grid-template-columns: 1fr auto 1fr; align-items: center; gap: .75rem; text-align: center; overflow-wrap: anywhere; }
        .face .score { font-size: 2rem; font-weight: 700; line-height: 1.2; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .face .sides + .headline { text-align: center; font-size: .9375rem; font-weight: 400; }
        .face progress { width: 100%; height: .5rem; margin: .5rem 0 .25rem; appearance: none; border: 0; border-radius: .25rem; background: #4a4d5c; overflow: hidden; display: block; }
        .face progress::-webkit-progress-bar { background: #4a4d5c; }
        .face progress::-webkit-progress-value { background: #62c98f; }
        .face progress::-moz-progress-bar { background: #62c98f; }
        .face .timer { font-size: 1.5rem; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; color: #62c98f; }
        .face dl { display: grid; grid-template-columns: minmax(min-content, 1fr) fit-content(60%); gap: .125rem .75rem; font-size: .9375rem; }
        .face .headline + dl, .face progress + dl, .face .sides + dl { margin-top: .375rem; }
        .face dt { color: #c9cbd6; overflow-wrap: break-word; max-width: 9.5rem; }
        .face dd { text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
        .away-note { text-align: center; font-size: .9375rem; }
        .phone-says { display: grid; gap: .75rem; max-width: 22rem; width: 100%; margin: 0 auto; }
        .phone-says .note { display: grid; gap: .5rem; }
        .phone-facts { color: var(--muted); font-size: .875rem; overflow-wrap: anywhere; }
        @media (prefers-reduced-motion: no-preference) {
          .lock-card.fresh { animation: fresh .6s ease-out; }
          @keyframes fresh { from { transform: scale(.97); } }
        }
        """#
}
