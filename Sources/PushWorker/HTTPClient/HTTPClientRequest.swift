import NIOHTTP1
import Redaction

/// One request, a POST by default, and its possible results.
struct HTTPClientRequest: Sendable {
    var endpoint: HTTPEndpoint
    /// The method; a GET has no body.
    var method = HTTPMethod.POST
    /// The body's media type; empty: there is no body.
    var contentType = ""
    /// Header fields in addition to those of every request.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// The server's answer.
    struct Answer: Sendable, Equatable {
        var status: Int
        /// The header `retry-after` in seconds; `nil` when it is missing, or not in seconds.
        var retryAfterSeconds: Int64?
        var body: [UInt8] = []
        /// Whether the body was longer than `answerByteCountMax`; the rest is not kept.
        var isBodyCut = false
    }

    /// Why there is no answer.
    struct Failure: Error, CustomStringConvertible {
        var description: String
        /// Whether the connection was gone, or ended before the answer began.
        var isBeforeAnswer = false
    }

    /// Maximum number of bytes of an answer's body that are kept.
    static let answerByteCountMax = 65_536

    var head: HTTPRequestHead {
        var fields = HTTPHeaders()
        fields.add(name: "host", value: self.endpoint.authority)
        if self.method != .GET {
            fields.add(name: "content-type", value: self.contentType)
            fields.add(name: "content-length", value: "\(self.body.count)")
        }
        fields.add(name: "user-agent", value: "mailboat/\(MailboatVersion.current)")
        for field in self.fields { fields.add(name: field.name, value: field.value) }
        return HTTPRequestHead(version: .http1_1, method: self.method, uri: self.endpoint.path, headers: fields)
    }
}

extension HTTPClientRequest: Redacted {}
