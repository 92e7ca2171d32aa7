/// The meter of an hour's budget. What is spent, kept and free differs by more than its colour.
enum BudgetCSS {
    static let text = #"""
        #budget, #audience-budget { display: grid; gap: .5rem; }
        #budget h3, #audience-budget h4 { overflow-wrap: anywhere; }
        .budget { display: grid; gap: .25rem; }
        .cells { display: flex; gap: 2px; height: 1.125rem; }
        .cells span { flex: 1 1 0; min-width: 1px; border: 1px solid var(--field); border-radius: .1875rem; }
        .cells .spent { background: var(--accent); border-color: var(--accent); }
        .cells .kept { background: repeating-linear-gradient(135deg, var(--field) 0 1px, transparent 1px 5px); }
        .is-reserve .spent { background: var(--warn); border-color: var(--warn); }
        .is-empty .spent { background: var(--bad); border-color: var(--bad); }
        .hour { position: relative; height: .625rem; margin-top: .25rem; border-bottom: 1px solid var(--field); }
        .hour i { position: absolute; bottom: 0; width: 2px; height: .625rem; margin-left: -1px; background: var(--text); }
        .hour-ends { display: flex; justify-content: space-between; color: var(--muted); font-size: .8125rem; }
        """#
}
