/// A type that holds what may be a secret: printed, dumped or mirrored, by us or by a library, a value of it tells its type's name and nothing more.
public protocol Untold: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Untold {
    /// The name of the type.
    public var description: String { "\(Self.self)" }
    /// The name of the type.
    public var debugDescription: String { "\(Self.self)" }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
