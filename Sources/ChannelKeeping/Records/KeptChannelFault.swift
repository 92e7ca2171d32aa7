/// Why a record about a kept channel cannot be read: which field, what it says, and what was expected.
public enum KeptChannelFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// Written by a release that this one does not know. The partition has to stop.
    case unknownVersion(UInt8)
    /// A field says what it cannot.
    case malformed(field: String, value: String, expected: String)

    public var description: String {
        switch self {
        case .unknownVersion(let version):
            "version is \(version): expected at most \(KeptChannelCodec.version); a newer release wrote this record"
        case .malformed(let field, let value, let expected): "\(field) is \(value): expected \(expected)"
        }
    }
}
