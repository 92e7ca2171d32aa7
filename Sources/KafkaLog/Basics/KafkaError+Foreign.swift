/// Errors of connections to something that is not Kafka. librdkafka takes the first bytes of the answer for its size.
extension KafkaError {
    /// librdkafka's words before the size of an answer that is larger than allowed (`rd_kafka_transport_framed_recv`).
    private static let sizeStart = "Invalid response size "

    /// librdkafka's words before those.
    private static let receiveStart = "Receive failed: "

    /// The first words about a port with another protocol, after the broker's name.
    static let foreignStart = "the port speaks "

    /// The size that the letters "HTTP" spell.
    private static let sizeOfHTTP: UInt32 = 0x4854_5450

    /// The sizes that an alert of TLS spells, without their last byte: the type of a record and the version.
    private static let startsOfTLS: ClosedRange<UInt32> = 0x15_0300...0x15_0304

    /// Says what the port speaks; `nil`: the text is about something else.
    static func foreign(_ text: String) -> String? {
        guard let size = text.firstRange(of: Self.sizeStart),
            let number = UInt32(text[size.upperBound...].prefix { $0.isASCII && $0.isNumber })
        else { return nil }
        let name = number == Self.sizeOfHTTP ? "HTTP" : Self.startsOfTLS.contains(number >> 8) ? "TLS" : nil
        guard let name else { return nil }
        let start = text.firstRange(of: Self.receiveStart)?.lowerBound ?? size.lowerBound
        return "\(text[..<start])\(Self.foreignStart)\(name), not \(name == "TLS" ? "plain " : "")Kafka"
    }

    /// What to do about a port that speaks another protocol; `nil`: the error is another one.
    var foreignRemedy: String? {
        guard self.text.contains(Self.foreignStart) else { return nil }
        return self.text.hasSuffix("HTTP, not Kafka")
            ? "name the port of Kafka's listener" : "security.protocol must be SSL or SASL_SSL"
    }
}
