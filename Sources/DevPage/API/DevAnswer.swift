import HTTPTypes
import Hummingbird
import NIOCore
import PushInspection

/// What is answered: JSON, unless it is a page.
enum DevAnswer {
    static func json(_ tree: JSONTree, status: HTTPResponse.Status = .ok) -> Response {
        Self.bytes(tree.bytes + [UInt8(ascii: "\n")], type: "application/json", status: status)
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
