/// A failure that is not the command line's fault (a file, a cluster): printed as it is, exit status 1.
package struct CommandFailure: Error, CustomStringConvertible {
    /// What a person reads.
    package let description: String

    /// - Parameter description: one line that says what failed and, where it helps, what to do.
    package init(_ description: String) { self.description = description }
}
