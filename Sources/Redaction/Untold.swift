/// A type whose values may contain secrets. When a value is printed, dumped or mirrored, by us or by a library, only
/// the type's name is shown.
public protocol Untold: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Untold {
    /// The name of the type.
    public var description: String { "\(Self.self)" }
    /// The name of the type.
    public var debugDescription: String { "\(Self.self)" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
