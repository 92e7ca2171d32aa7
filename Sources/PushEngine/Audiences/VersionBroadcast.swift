import APNSProtocol
import PushModel

/// What became of a version on one of its audience's channels, for the `audience` record.
struct VersionBroadcast: Equatable {
    /// Maximum length of APNs' reason in the record, bytes.
    static let reasonByteCountMax = 64

    var environment: PushEnvironment
    var channel: [UInt8]
    /// Whether APNs has accepted the version.
    var isAccepted = false
    /// Number of answers with which APNs did not accept the version.
    var refusedCount: UInt32 = 0
    /// APNs' reason in the last answer that did not accept the version; empty: there was none.
    var reason = ""
    /// Number of unanswered broadcasts.
    var unansweredCount: UInt32 = 0

    /// Takes the result of a broadcast.
    /// - Returns: `false`: APNs surely did not process the broadcast, so nothing is counted.
    mutating func take(_ result: PushAnswer.Result) -> Bool {
        switch result {
        case .accepted, .channel: self.isAccepted = true
        case .response(let response) where response.verdict == .accepted: self.isAccepted = true
        case .response(let response):
            self.refusedCount &+= 1
            self.reason = String(decoding: response.reason.utf8.prefix(Self.reasonByteCountMax), as: UTF8.self)
        case .unknown: self.unansweredCount &+= 1
        case .notProcessed: return false
        }
        return true
    }

    func append(listeners: UInt64, to bytes: inout [UInt8]) {
        bytes.append(utf8: "{\"environment\":")
        JSONBytes.appendString("\(self.environment)", to: &bytes)
        bytes.append(utf8: ",\"channel\":")
        JSONBytes.appendString(self.channel.span, to: &bytes)
        bytes.append(utf8: ",\"accepted\":")
        bytes.append(contentsOf: (self.isAccepted ? "true" : "false").utf8)
        bytes.append(utf8: ",\"refused\":")
        JSONBytes.appendInteger(Int64(self.refusedCount), to: &bytes)
        if !self.reason.isEmpty {
            bytes.append(utf8: ",\"reason\":")
            JSONBytes.appendString(self.reason, to: &bytes)
        }
        bytes.append(utf8: ",\"unanswered\":")
        JSONBytes.appendInteger(Int64(self.unansweredCount), to: &bytes)
        bytes.append(utf8: ",\"listeners\":")
        JSONBytes.appendInteger(Int64(clamping: self.isAccepted ? listeners : 0), to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }
}
