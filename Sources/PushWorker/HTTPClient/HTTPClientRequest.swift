import NIOHTTP1
import Redaction

/// One request, a POST unless it says otherwise, and what may come of it.
struct HTTPClientRequest: Sendable {
    var endpoint: HTTPEndpoint
    /// A GET has no body.
    var method = HTTPMethod.POST
    /// What the body is; empty: there is none.
    var contentType = ""
    /// Header fields beside those that every request has.
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    /// What the server said.
    struct Answer: Sendable, Equatable {
        var status: Int
        /// `retry-after` in seconds; `nil`: it was not said, or not in seconds.
        var retryAfterSeconds: Int64?
        var body: [UInt8] = []
        /// The body was longer than `answerByteCountMax`; the rest is not kept.
        var isBodyCut = false
    }

    /// Why there is no answer.
    struct Failure: Error, CustomStringConvertible {
        var description: String
        /// The connection was gone, or ended before the answer began.
        var isBeforeAnswer = false
    }

    /// Longest part of an answer's body that is kept, bytes.
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

extension HTTPClientRequest: Untold {}
