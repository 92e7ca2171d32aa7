import HTTPTypes
import Hummingbird
import NIOCore
import PushInspection
import PushModel

/// An answer of the API: JSON, unless it is a page.
enum DevAnswer {
    /// Answers with JSON.
    /// - Parameter keepsTokens: whether tokens stay whole, because the client will publish the content again. The
    ///   tokens are simulated, and nothing of this answer is logged.
    static func json(_ tree: JSONTree, status: HTTPResponse.Status = .ok, keepsTokens: Bool = false) -> Response {
        Self.bytes(
            (keepsTokens ? tree.bytes : Self.bytes(of: tree)) + [UInt8(ascii: "\n")], type: "application/json",
            status: status)
    }

    /// JSON on one line, without whole tokens, even if a publisher used a token as a key, a name or content. Every text
    /// that the page sends unasked passes through here.
    static func bytes(of tree: JSONTree) -> [UInt8] {
        let bytes = tree.bytes
        // Most texts hold no token and are returned as they are.
        return TokenText.holdsToken(bytes) ? TokenHiding.withoutStrayTokens(tree).bytes : bytes
    }

    /// Answers with the reason for the refusal, as `{"error": …}`.
    static func refusal(_ status: HTTPResponse.Status, _ text: String) -> Response {
        Self.json(["error": .string(text)], status: status)
    }

    static func text(_ text: String, type: String) -> Response { Self.bytes(Array(text.utf8), type: type, status: .ok) }

    private static func bytes(_ bytes: [UInt8], type: String, status: HTTPResponse.Status) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

/// Why a request is refused.
struct DevRefusal: Error {
    var status: HTTPResponse.Status
    var text: String

    init(_ status: HTTPResponse.Status, _ text: String) {
        self.status = status
        self.text = text
    }
}
