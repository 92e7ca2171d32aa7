/// Checks how an operator names brokers. librdkafka itself accepts nearly everything. It reads a port up to the first
/// non-digit, modulo 65,536, and waits for a broker without a name. This check is stricter.
public enum BrokerList {
    /// The accepted form in words, for a message that says "expected …".
    public static let expected = "brokers as host:port, separated by commas, ports from 1 to 65535"

    /// librdkafka's names of protocols, which may precede a host.
    private static let protocols: Set<Substring> = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]

    /// librdkafka's port for a broker that is named without one.
    public static let usualPort = 9_092

    /// Says which port is used for brokers that are named without one; `nil`: each has a port.
    public static func remarkOnPorts(_ text: String) -> String? {
        let bare = Self.brokers(in: text).filter { !Self.hasPort($0) }
        guard !bare.isEmpty else { return nil }
        return
            "\(bare.joined(separator: ", ")) \(bare.count == 1 ? "has" : "have") no port, so Kafka's usual one is taken: \(Self.usualPort)"
    }

    /// The list, with `usualPort` added to each broker that is named without a port.
    public static func withPorts(_ text: String) -> String {
        guard Self.remarkOnPorts(text) != nil else { return text }
        return Self.brokers(in: text).map { Self.hasPort($0) ? String($0) : "\($0):\(Self.usualPort)" }
            .joined(separator: ",")
    }

    private static func brokers(in text: String) -> [Substring] {
        text.split(separator: ",").map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
    }

    /// Whether a broker of a valid list has a port.
    private static func hasPort(_ broker: Substring) -> Bool {
        let address = broker.firstRange(of: "://").map { broker[$0.upperBound...] } ?? broker
        return address.lastIndex(of: ":").map { !address[$0...].contains("]") } ?? false
    }

    /// Whether `text` is a list of `host:port` or `host`, separated by commas. A protocol may precede each; an IPv6
    /// address is in brackets. A user before the host is refused, because logs and messages show brokers.
    public static func isValid(_ text: String) -> Bool {
        let brokers = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
        // A list that a program has put together may end with a comma.
        return (brokers.count > 1 && brokers.last == "" ? brokers.dropLast() : brokers[...]).allSatisfy(Self.isBroker)
    }

    private static func isBroker(_ text: Substring) -> Bool {
        var address = text
        if let sign = text.firstRange(of: "://") {
            guard Self.protocols.contains(text[..<sign.lowerBound].lowercased()[...]) else { return false }
            address = text[sign.upperBound...]
        }
        let host: Substring
        if address.hasPrefix("[") {
            guard let end = address.firstIndex(of: "]") else { return false }
            host = address[address.index(after: address.startIndex)..<end]
            address = address[address.index(after: end)...]
            // A zone (RFC 4007) names the interface: `fe80::1%eth0`.
            let parts = host.split(separator: "%", omittingEmptySubsequences: false)
            guard host.contains(":"), parts.count <= 2, parts.allSatisfy({ !$0.isEmpty }),
                host.utf8.allSatisfy({ Self.isNamePart($0) || ":%".utf8.contains($0) })
            else { return false }
        } else {
            host = address.prefix { $0 != ":" }
            address = address[host.endIndex...]
            guard !host.isEmpty, host.utf8.allSatisfy(Self.isNamePart) else { return false }
        }
        guard let colon = address.first else { return true }
        let port = address.dropFirst()
        return colon == ":" && port.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && Int(port).map { (1...65_535).contains($0) } == true
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ".-_".utf8.contains(byte)
        }
    }
}
