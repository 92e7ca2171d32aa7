/// What the owners of a partition, one after the other, say of one source position (contract: Conservation).
///
/// An outcome lies in Kafka before the state record that says the event is done. An owner that dies between the two leaves a successor
/// that reads the event again and cannot know what was said: it may say something else, and one of the two counts.
package enum OutcomeAgreement: Equatable {
    /// All say the same, `duplicate` aside.
    case agree
    /// They differ, and this one counts: `delivered` or `fanned-out` before all others, else what was said last, but for `unknown`.
    case counts(String)
    /// They contradict each other.
    case contradict([String])

    /// - Parameter names: all outcomes of the position, in the order of the log; `duplicate` agrees with everything.
    package init(_ names: some Sequence<String>) {
        let said = names.filter { $0 != "duplicate" }
        guard Set(said).count > 1 else {
            self = .agree
            return
        }
        let shown = said.firstIndex { ["delivered", "fanned-out"].contains($0) }
        // What was delivered is not set aside; and what an event is does not depend on who reads it.
        let agreeing: Set<String> = ["delivered", "fanned-out", "superseded", "unknown"]
        let isSetAside = shown.map { !agreeing.isSuperset(of: said[$0...]) } ?? false
        if isSetAside || said.contains("applied") || said.contains("dead-lettered") {
            self = .contradict(Set(said).sorted())
        } else {
            self = .counts(shown.map { said[$0] } ?? said.last { $0 != "unknown" } ?? "unknown")
        }
    }
}
