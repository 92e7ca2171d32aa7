import PushModel

/// Bodies of answers about channels.
public enum ChannelBody {
    /// Why a body cannot be used: it is not JSON, was cut off, or lacks the field that was asked for.
    public struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        /// What is wrong with the body, in words.
        public let description: String
    }

    /// The policy of a channel, from the answer about this channel: `{"message-storage-policy": 0, "push-type":
    /// "LiveActivity"}`.
    public static func storagePolicy(_ body: Span<UInt8>) throws(Fault) -> MessageStoragePolicy {
        var policy: MessageStoragePolicy?
        try Self.forEachField(of: body) { cursor, body, field, kind throws(JSONFault) in
            guard field.elementsEqual("\(ChannelRequest.storagePolicyName)".utf8), kind == .number else { return false }
            let spelling = body.extracting(try cursor.number(body).spelling.range)
            let digit = spelling.count == 1 ? spelling[0] : 0
            policy = MessageStoragePolicy.allCases.first { digit == UInt8(ascii: "0") + $0.rawValue }
            return true
        }
        guard let policy else { throw Fault(description: "it has no \(ChannelRequest.storagePolicyName) of 0 or 1") }
        return policy
    }

    /// The ids of a list, in the list's order: `{"channels": ["…"]}`. An empty body is an empty list, as Apple's page
    /// allows.
    public static func channelIDs(_ body: Span<UInt8>) throws(Fault) -> [[UInt8]] {
        guard !body.isEmpty else { return [] }
        var channelIDs: [[UInt8]]?
        try Self.forEachField(of: body) { cursor, body, field, kind throws(JSONFault) in
            guard field.elementsEqual("channels".utf8), kind == .array else { return false }
            var (found, isFirst) = ([[UInt8]](), true)
            while try cursor.nextElement(body, isFirst: isFirst) {
                isFirst = false
                found.append(JSONEscape.text(of: try cursor.string(body), in: body))
            }
            channelIDs = found
            return true
        }
        guard let channelIDs else { throw Fault(description: "it has no list of channels") }
        return channelIDs
    }

    /// Calls `read` at the value of each field of an object. `read` returns `false` if it has not read the value.
    private static func forEachField(
        of body: Span<UInt8>,
        _ read: (inout JSONCursor, Span<UInt8>, _ field: [UInt8], JSONKind) throws(JSONFault) -> Bool
    ) throws(Fault) {
        do throws(JSONFault) {
            var (cursor, isFirst) = (JSONCursor(), true)
            try cursor.openObject(body)
            while let name = try cursor.nextName(body, isFirst: isFirst) {
                isFirst = false
                let field = JSONEscape.text(of: name, in: body)
                let kind = try cursor.peekKind(body)
                if try !read(&cursor, body, field, kind) { _ = try cursor.skipValue(body) }
            }
            try cursor.expectEnd(body)
        } catch {
            throw Fault(description: "it is no JSON object: at byte \(error.index) \(error.expectation)")
        }
    }
}
