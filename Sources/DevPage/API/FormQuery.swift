import Foundation
import Hummingbird

/// Parameters of a request's query as forms and libraries encode them: `+` is a space
/// (https://url.spec.whatwg.org/#urlencoded-parsing).
struct FormQuery {
    /// The parameters in the order of the query.
    let parameters: [(name: String, value: String)]

    /// Reads the parameters of a query.
    /// - Throws: a refusal if a decoded parameter is not UTF-8.
    init(_ query: String?) throws(DevRefusal) {
        var parameters: [(name: String, value: String)] = []
        for part in (query ?? "").split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = try Self.decoded(pair[0])
            parameters.append((name, pair.count > 1 ? try Self.decoded(pair[1]) : ""))
        }
        self.parameters = parameters
    }

    init(of request: Request) throws(DevRefusal) { try self.init(request.uri.query) }

    /// The first value of that name.
    subscript(name: String) -> String? { self.parameters.first { $0.name == name }?.value }

    private static func decoded(_ text: Substring) throws(DevRefusal) -> String {
        guard let decoded = text.replacing("+", with: " ").removingPercentEncoding else {
            throw DevRefusal(
                .badRequest, "“\(text.prefix(40))” in the query is not UTF-8, percent-encoded")
        }
        return decoded
    }
}
