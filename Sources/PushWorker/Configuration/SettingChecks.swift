import APNSProtocol

/// What several settings accept.
enum SettingChecks {
    /// Apple's team and key identifiers.
    static func isAppleIdentifier(_ text: String) -> Bool {
        text.utf8.count == ProviderTokenClaims.identifierByteCount && text.utf8.allSatisfy { Self.isWord($0) }
    }

    /// Apple: letters, digits, '-' and '.'.
    static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { Self.isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    }

    static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                Self.isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ":")
            }
    }

    static func isPath(_ text: String) -> Bool { (1...4_096).contains(text.utf8.count) && !text.utf8.contains(0) }

    /// `host:port` or `host`, separated by commas; librdkafka also takes a protocol in front.
    static func areAddresses(_ text: String) -> Bool {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        return !parts.isEmpty
            && parts.allSatisfy { part in
                let address = part.split(separator: ":", omittingEmptySubsequences: false)
                guard address.count > 1, let port = address.last, let number = Int(port) else {
                    return !part.isEmpty && !part.contains(" ")
                }
                return (1...65_535).contains(number) && !address[0].isEmpty
            }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
