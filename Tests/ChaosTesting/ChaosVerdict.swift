/// How a run went.
package struct ChaosVerdict {
    /// What was counted.
    package var summary: ChaosSummary
    /// Promises that were broken; empty: a success.
    package var faults: [String]
    /// Further lines of the table.
    package var notes: [String]
}
