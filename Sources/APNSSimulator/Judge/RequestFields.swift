import HTTP2Session

/// The header fields of one request that APNs reads, found in one pass.
struct RequestFields {
    /// Ranges of `HTTP2ServerEvents.bytes`; `nil` if absent.
    var method: Range<Int>?
    var path: Range<Int>?
    var authorization: Range<Int>?
    var pushType: Range<Int>?
    var topic: Range<Int>?
    var priority: Range<Int>?
    var expiration: Range<Int>?
    var messageID: Range<Int>?
    var collapseID: Range<Int>?
    var contentEncoding: Range<Int>?
    var channelID: Range<Int>?
    var requestID: Range<Int>?
    /// Whether a field that may occur only once occurs twice.
    var hasDuplicates = false

    init(_ fields: ArraySlice<HTTP2FieldRange>, bytes: Span<UInt8>) {
        for field in fields {
            let name = bytes.extracting(field.name)
            switch name.count {
            case 5:
                if name.equals(":path") { Self.put(&self.path, field.value, &self.hasDuplicates) }
            case 7:
                if name.equals("apns-id") {
                    Self.put(&self.messageID, field.value, &self.hasDuplicates)
                } else if name.equals(":method") {
                    Self.put(&self.method, field.value, &self.hasDuplicates)
                }
            case 10:
                if name.equals("apns-topic") { Self.put(&self.topic, field.value, &self.hasDuplicates) }
            case 13:
                if name.equals("apns-priority") {
                    Self.put(&self.priority, field.value, &self.hasDuplicates)
                } else if name.equals("authorization") {
                    Self.put(&self.authorization, field.value, &self.hasDuplicates)
                }
            case 14:
                if name.equals("apns-push-type") { Self.put(&self.pushType, field.value, &self.hasDuplicates) }
            case 15:
                if name.equals("apns-expiration") {
                    Self.put(&self.expiration, field.value, &self.hasDuplicates)
                } else if name.equals("apns-channel-id") {
                    Self.put(&self.channelID, field.value, &self.hasDuplicates)
                } else if name.equals("apns-request-id") {
                    Self.put(&self.requestID, field.value, &self.hasDuplicates)
                }
            case 16:
                if name.equals("apns-collapse-id") {
                    Self.put(&self.collapseID, field.value, &self.hasDuplicates)
                } else if name.equals("content-encoding") {
                    Self.put(&self.contentEncoding, field.value, &self.hasDuplicates)
                }
            default:
                break
            }
        }
    }

    private static func put(_ field: inout Range<Int>?, _ value: Range<Int>, _ hasDuplicates: inout Bool) {
        if field != nil { hasDuplicates = true }
        field = value
    }
}
