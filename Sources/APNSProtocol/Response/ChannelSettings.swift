import PushModel

/// What a channel was made with (Apple: "Sending channel management requests to APNs").
public enum ChannelSettings {
    /// The member that says what a channel keeps: 0, nothing; 1, the most recent message.
    public static let storagePolicyName = "message-storage-policy"
    /// What is looked at of a body; Apple's has some fifty bytes.
    public static let byteCountMax = 1_024

    /// Whether the channel that this body describes keeps its most recent message for phones that are off; `nil`: the body does not say so.
    public static func storesMessages(body: Span<UInt8>) -> Bool? {
        let body = body.extracting(first: Self.byteCountMax)
        var answer: Bool?
        do throws(JSONFault) {
            var cursor = JSONCursor()
            var isFirst = true
            try cursor.openObject(body)
            while let name = try cursor.nextName(body, isFirst: isFirst) {
                isFirst = false
                let field = JSONEscape.text(of: name, in: body)
                if try cursor.peekKind(body) == .number, field.elementsEqual(Self.storagePolicyName.utf8) {
                    let spelling = body.extracting(try cursor.number(body).spelling.range)
                    answer =
                        spelling.count != 1
                        ? nil
                        : spelling[0] == UInt8(ascii: "1")
                            ? true
                            : spelling[0] == UInt8(ascii: "0") ? false : nil
                } else {
                    _ = try cursor.skipValue(body)
                }
            }
        } catch {
            return nil
        }
        return answer
    }
}
