import HTTPTypes
import Hummingbird
import NIOCore
import PushInspection
import PushModel

/// What is answered: JSON, unless it is a page.
enum DevAnswer {
    /// - Parameter keepsTokens: somebody asks for what can be published again. The tokens are simulated ones, and nothing of this answer is logged.
    static func json(_ tree: JSONTree, status: HTTPResponse.Status = .ok, keepsTokens: Bool = false) -> Response {
        Self.bytes(
            (keepsTokens ? tree.bytes : Self.bytes(of: tree)) + [UInt8(ascii: "\n")], type: "application/json",
            status: status)
    }

    /// As JSON on one line. What the page tells by itself passes here: whatever a publisher has taken for a key, a name or content, no whole token
    /// is told.
    static func bytes(of tree: JSONTree) -> [UInt8] {
        let bytes = tree.bytes
        // Nearly always there is nothing to do.
        return TokenText.holdsToken(bytes) ? TokenHiding.withoutStrayTokens(tree).bytes : bytes
    }

    /// Says why not, as `{"error": …}`.
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

/// Why a request is not answered as asked.
struct DevRefusal: Error {
    var status: HTTPResponse.Status
    var text: String

    init(_ status: HTTPResponse.Status, _ text: String) {
        self.status = status
        self.text = text
    }
}
