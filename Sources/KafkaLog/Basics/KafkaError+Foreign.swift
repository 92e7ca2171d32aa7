/// Recognises the error of a connection to a server that does not speak Kafka's protocol. librdkafka reads the first
/// four bytes of any answer as the answer's size. So its error names a size that is made of the letters "HTTP" or of a
/// TLS alert.
extension KafkaError {
    /// librdkafka's words before the size of an answer that is larger than allowed (`rd_kafka_transport_framed_recv`).
    private static let sizeStart = "Invalid response size "

    /// librdkafka's words before `sizeStart`.
    private static let receiveStart = "Receive failed: "

    /// Mailboat's words about a port with another protocol. They follow the broker's name.
    static let foreignStart = "the port speaks "

    /// The size that librdkafka reads from the letters "HTTP".
    private static let sizeOfHTTP: UInt32 = 0x4854_5450

    /// The first three bytes of a TLS alert, as a number: the record type 0x15, then the version.
    private static let startsOfTLS: ClosedRange<UInt32> = 0x15_0300...0x15_0304

    /// Rewrites librdkafka's text so that it names the port's protocol; `nil`: the text is about something else.
    static func foreign(_ text: String) -> String? {
        guard let size = text.firstRange(of: Self.sizeStart),
            let number = UInt32(text[size.upperBound...].prefix { $0.isASCII && $0.isNumber })
        else { return nil }
        let name = number == Self.sizeOfHTTP ? "HTTP" : Self.startsOfTLS.contains(number >> 8) ? "TLS" : nil
        guard let name else { return nil }
        let start = text.firstRange(of: Self.receiveStart)?.lowerBound ?? size.lowerBound
        return "\(text[..<start])\(Self.foreignStart)\(name), not \(name == "TLS" ? "plain " : "")Kafka"
    }

    /// What an operator can do about a port that speaks another protocol; `nil`: the error is about something else.
    var foreignRemedy: String? {
        guard self.text.contains(Self.foreignStart) else { return nil }
        return self.text.hasSuffix("HTTP, not Kafka")
            ? "name the port of Kafka's listener" : "security.protocol must be SSL or SASL_SSL"
    }
}
