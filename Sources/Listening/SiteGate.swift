import HTTPTypes
package import Hummingbird
import NIOCore

/// Passes on the requests that `RequestGuard` allows. Others get status 403 and a JSON object with the reason.
package struct SiteGate: RouterMiddleware {
    private let guarding: RequestGuard

    /// - Parameter host: the address on which the port listens.
    package init(host: String) { self.guarding = RequestGuard(host: host) }

    /// Passes a request on, or answers it with status 403 and the reason. Runs on no particular thread.
    @concurrent package func handle(
        _ request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        guard let refusal = self.guarding.refusal(of: request) else { return try await next(request, context) }
        let reason = refusal.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return Response(
            status: .forbidden, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "{\"error\":\"\(reason)\"}\n")))
    }
}

extension RequestGuard {
    /// Why a request must be refused; `nil` when it may be answered.
    package func refusal(of request: Request) -> String? {
        self.refusal(Sender(request), isRead: [.get, .head].contains(request.method))
    }
}

extension RequestGuard.Sender {
    /// Reads the sender from the request's header fields.
    package init(_ request: Request) {
        func field(_ name: String) -> String? { HTTPField.Name(name).flatMap { request.headers[$0] } }
        self.init(
            authority: request.head.authority, origin: request.headers[.origin], fetchSite: field("sec-fetch-site"),
            isNavigation: field("sec-fetch-mode") == "navigate" && field("sec-fetch-dest") == "document")
    }
}
