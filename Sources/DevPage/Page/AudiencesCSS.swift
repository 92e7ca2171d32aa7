/// Audiences: the field of pixels, its legend, and tables that are wider than a phone.
enum AudiencesCSS {
    static let text = #"""
        .audience { display: grid; gap: .75rem; min-width: 0; }
        .audience h3 { overflow-wrap: anywhere; }
        .field { min-width: 0; background: #0b0c10; border: 1px solid var(--field); border-radius: .5rem; }
        .field canvas { display: block; cursor: pointer; }
        .legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .875rem; }
        .legend li { display: inline-flex; align-items: center; gap: .375rem; }
        .legend b { font-variant-numeric: tabular-nums; }
        .swatch { width: .875rem; height: .875rem; border: 1px solid var(--field); border-radius: .1875rem; }
        .swatch.away { border: 3px double var(--text); }
        #new-channel select { width: auto; max-width: 100%; }
        .channels { display: grid; gap: .75rem; }
        .channels:empty { display: none; }
        .channels li { display: grid; gap: .375rem; padding-top: .75rem; border-top: 1px solid var(--line); }
        .wrap { overflow-wrap: anywhere; }
        #fault-count { width: 6rem; }
        .member-number { display: inline-flex; align-items: center; gap: .375rem; }
        .member-number input { width: 5.5rem; min-height: 2rem; padding: .125rem .5rem; }
        #new-members { grid-template-columns: minmax(0, 1fr) 6rem; align-items: end; }
        #new-members p { display: grid; gap: .25rem; min-width: 0; }
        #new-members p:nth-child(3), #new-members button { grid-column: 1 / -1; }
        """#
}
