/// A type whose values may contain secrets. When a value is printed, dumped or mirrored, by us or by a library, only
/// the type's name is shown.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The name of the type.
    public var description: String { "\(Self.self)" }
    /// The name of the type.
    public var debugDescription: String { "\(Self.self)" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
