import NIOHTTP1

/// A request by plain HTTP to a server on this machine: the page of `mailboat dev`, or the control port of a simulated
/// APNs.
package struct LocalQuestion: Sendable {
    private let request: HTTPClientRequest

    /// - Parameter url: a URL such as `http://127.0.0.1:8484/api/about`.
    /// - Returns: `nil` when `url` is not a URL of plain HTTP, or names another machine.
    package init?(_ url: String) {
        guard let endpoint = HTTPEndpoint(url), !endpoint.isSecure, endpoint.isLoopback else { return nil }
        self.request = HTTPClientRequest(endpoint: endpoint, method: .GET)
    }

    /// The body of a successful answer; `nil` when there is no answer, or the answer is an error. Blocks the calling
    /// thread for some seconds at most. The thread must not be an event loop's.
    package func answer() -> [UInt8]? {
        guard let answer = try? HTTPClientConnection.ask(self.request, tls: nil), answer.status == 200,
            !answer.isBodyCut
        else {
            return nil
        }
        return answer.body
    }
}
