import HTTPTypes
import Hummingbird
import PushModel

/// Requests about update tokens that apps report, and summaries of many phones.
extension ControlServer {
    /// Maximum number of update tokens in an answer if the request has no `limit`.
    static let updateTokensShown = 1_000
    /// Maximum number of digits of a token in a body.
    private static let digitCountMax = TokenTable.tokenByteCountMax * 2

    func addStarts(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/update-tokens") { request, _ in
            var parameters = QueryNumbers(request)
            let since = parameters.take("since") ?? 0
            let limit = parameters.take("limit") ?? Self.updateTokensShown
            if let problem = parameters.problem { return Self.refusal(problem) }
            let (tokens, next) = simulator.updateTokens(since: since, limit: limit)
            return Self.object { json in
                json.member("next", next)
                json.array("update-tokens", tokens, isOneALine: true) { token, json in
                    json.object { json in
                        json.member("startToken", token.startToken)
                        json.member("updateToken", token.updateToken)
                        json.member("channel", token.channel)
                        json.member("activity", token.activity)
                        json.member("atMillis", token.atMillis)
                    }
                }
            }
        }
        router.get("/summary") { request, _ in
            switch Self.summaryQuery(request) {
            case .failure(let refusal): return Self.refusal(refusal.text)
            case .success(let query): return Self.json(SummaryJSON.bytes(simulator.summary(query)))
            }
        }
        router.post("/summary") { request, _ in
            switch Self.summaryQuery(request) {
            case .failure(let refusal): return Self.refusal(refusal.text)
            case .success(let query):
                guard query.prefix.isEmpty, query.kind == nil else {
                    return Self.refusal(
                        "'prefix' and 'kind' select from all tokens, but here the body names the tokens")
                }
                var asked = AskedTokens()
                var word: [UInt8] = []
                for try await buffer in request.body {
                    for byte in buffer.readableBytesView {
                        guard byte <= UInt8(ascii: " ") else {
                            // One digit more than a token may have is kept. Without it, a word that is too long would
                            // be cut to a valid token.
                            if word.count <= Self.digitCountMax { word.append(byte) }
                            continue
                        }
                        if !word.isEmpty { asked.add(String(decoding: word, as: UTF8.self), in: simulator) }
                        word.removeAll(keepingCapacity: true)
                    }
                }
                if !word.isEmpty { asked.add(String(decoding: word, as: UTF8.self), in: simulator) }
                return Self.json(SummaryJSON.bytes(simulator.summary(query, asked)))
            }
        }
    }

    private static func summaryQuery(_ request: Request) -> Result<SummaryQuery, FlatDocument.Refusal> {
        var query = SummaryQuery()
        query.prefix = request.uri.queryParameters.get("prefix") ?? ""
        if let name = request.uri.queryParameters.get("kind") {
            guard let kind = TokenDocument.kind(named: name) else {
                return .failure(FlatDocument.Refusal(text: "'kind' is '\(name)'. Known: any, update, start"))
            }
            query.kind = kind
        }
        var parameters = QueryNumbers(request)
        query.leastDistanceMillis = parameters.take("distance").map(Int64.init)
        query.inFlightMax = parameters.take("inFlight") ?? query.inFlightMax
        query.highPriorityPerHourMax = parameters.take("highPriority")
        query.startsPerHourMax = parameters.take("starts")
        query.cardsMax = parameters.take("cards") ?? query.cardsMax
        query.bothWaysMax = parameters.take("bothWays")
        query.groupsMax = parameters.take("groups") ?? query.groupsMax
        query.differingMax = parameters.take("limit") ?? query.differingMax
        if let problem = parameters.problem { return .failure(FlatDocument.Refusal(text: problem)) }
        return .success(query)
    }
}

/// Whole numbers among the parameters of a request.
private struct QueryNumbers {
    private let request: Request
    /// What is wrong with the first parameter that is not a whole number; `nil` if all are whole numbers.
    private(set) var problem: String?

    init(_ request: Request) { self.request = request }

    mutating func take(_ name: String) -> Int? {
        guard let text = self.request.uri.queryParameters.get(name) else { return nil }
        guard let number = Int(text), number >= 0 else {
            self.problem = self.problem ?? "'\(name)' must be a whole number, 0 or more"
            return nil
        }
        return number
    }
}
