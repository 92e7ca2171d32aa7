/// A failure that is not the command line's fault (a file, a cluster). It is printed as it is, with exit status 1.
package struct CommandFailure: Error, CustomStringConvertible {
    /// The text for a person.
    package let description: String

    /// - Parameter description: one line that says what failed and, where it helps, what to do.
    package init(_ description: String) { self.description = description }
}
