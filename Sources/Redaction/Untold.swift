/// A type that holds what may be a secret: printed, dumped or mirrored, by us or by a library, a value of it tells its type's name and nothing more.
public protocol Untold: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Untold {
    public var description: String { "\(Self.self)" }
    public var debugDescription: String { "\(Self.self)" }
    public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
