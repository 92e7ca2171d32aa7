/// A failure that is not the command line's fault (a file, a cluster): printed as it is, exit status 1.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
