import APNSProtocol
public import PushModel

/// Fuzzes bodies of APNs' answers, and the debug data of its GOAWAY frames.
public struct AnswerTarget: FuzzTarget {
    public static let name = "answers"
    public static let pieces: [[UInt8]] =
        ["\"reason\":", "\"timestamp\":", "{", "}", "\"", "\\", ",", ":", "\u{0}", "\u{7F}", "é", "null", "-", "[[[["]
        .map {
            Array($0.utf8)
        } + ReasonTable.knownReasons.sorted().map { Array($0.utf8) }

    public init() {}

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        let (reason, timestampMillis) = ErrorBody.parse(input.span)
        if reason.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "the reason has control characters" }
        // An incomplete character, or a byte that is not UTF-8, becomes U+FFFD, which has three bytes.
        if reason.utf8.count > 3 * ErrorBody.reasonByteCountMax { return "the reason has \(reason.utf8.count) bytes" }
        let status = UInt16(random.oneOf([0, 200, 400, 403, 405, 410, 413, 429, 500, 503, 599, 65_535]))
        let verdict = ReasonTable.verdict(status: status, reason: reason, timestampMillis: timestampMillis)
        if verdict == .accepted, !(200...299).contains(status) { return "a \(status) is taken for accepted" }
        return nil
    }
}
