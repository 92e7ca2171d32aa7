/// A type whose values may contain secrets. Printing, dumping or mirroring a value shows only the type's name.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The name of the type.
    public var description: String { "\(Self.self)" }
    /// The name of the type.
    public var debugDescription: String { "\(Self.self)" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
