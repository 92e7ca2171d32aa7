/// Result of a chaos run.
package struct ChaosVerdict {
    /// Numbers of the run.
    package var summary: ChaosSummary
    /// Broken promises. Empty means success.
    package var faults: [String]
    /// Further lines for the result table of a run.
    package var remarks: [String]
}
