/// Whether the outcomes of one source position agree. Several owners of its partition, one after the other, may have
/// written them (contract: Conservation).
///
/// An outcome is written to Kafka before the `state` record that says that the event is done. If an owner dies between
/// the two, its successor reads the event again without knowing the first outcome. The successor may give another
/// outcome. One of the two counts.
package enum OutcomeAgreement: Equatable {
    /// All outcomes are equal, apart from `duplicate`.
    case agree
    /// The outcomes differ, and this one counts. It is `delivered` or `fanned-out` if there is one. Otherwise it is the
    /// last that is neither `unknown` nor `duplicate`.
    case counts(String)
    /// The outcomes contradict each other.
    case contradict([String])

    /// - Parameter names: all outcomes of the position, in the order of the log; `duplicate` agrees with everything.
    package init(_ names: some Sequence<String>) {
        let said = names.filter { $0 != "duplicate" }
        guard Set(said).count > 1 else {
            self = .agree
            return
        }
        let shown = said.firstIndex { ["delivered", "fanned-out"].contains($0) }
        // Owners contradict each other if a later one set a delivered event aside, or took it for another kind of
        // event.
        let agreeing: Set<String> = ["delivered", "fanned-out", "superseded", "unknown"]
        let isSetAside = shown.map { !agreeing.isSuperset(of: said[$0...]) } ?? false
        if isSetAside || said.contains("applied") || said.contains("dead-lettered") {
            self = .contradict(Set(said).sorted())
        } else {
            self = .counts(shown.map { said[$0] } ?? said.last { $0 != "unknown" } ?? "unknown")
        }
    }
}
