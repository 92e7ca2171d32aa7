/// Counts of what many phones show.
extension APNSSimulator {
    /// Number of tokens that are read under one lock, so that no push waits long for a summary.
    private static let tokensAtOnce = 2_048

    /// Counts what the phones behind tokens show and have received. The phones are read in parts, so changes made
    /// meanwhile may be missing.
    /// - Parameters:
    ///   - query: what to count. Its prefix and kind are used only without `tokens`.
    ///   - tokens: the tokens (hex) to read; `nil` for all known ones.
    public func summary(_ query: SummaryQuery = SummaryQuery(), tokens: [String]? = nil) -> DeviceSummary {
        guard let tokens else { return self.summary(query, indices: nil, unknownCount: 0) }
        var asked = AskedTokens()
        for token in tokens { asked.add(token, in: self) }
        return self.summary(query, asked)
    }

    func summary(_ query: SummaryQuery, _ asked: AskedTokens) -> DeviceSummary {
        self.summary(query, indices: asked.indices, unknownCount: asked.unknownCount)
    }

    private func summary(_ query: SummaryQuery, indices: [Int32]?, unknownCount: Int) -> DeviceSummary {
        var builder = SummaryBuilder(
            query, rules: self.shared.configuration.deviceRules, nowMillis: self.shared.nowMillis())
        builder.countUnknown(unknownCount)
        let count = indices?.count ?? self.shared.withState { $0.store.tokens.count }
        builder = self.goRound(builder, indices, count) { $0.count($1, in: $2) }
        builder = self.shared.withState { [builder] state in
            var builder = builder
            builder.order(in: state.store)
            return builder
        }
        return self.goRound(builder, indices, count) { $0.compare($1, in: $2) }.summary
    }

    private func goRound(
        _ builder: SummaryBuilder, _ indices: [Int32]?, _ count: Int,
        _ look: (inout SummaryBuilder, Int, borrowing DeviceStore) -> Void
    ) -> SummaryBuilder {
        var builder = builder
        for start in stride(from: 0, to: count, by: Self.tokensAtOnce) {
            self.shared.look { state in
                for index in start..<min(count, start + Self.tokensAtOnce) {
                    let token = indices.map { Int($0[index]) } ?? index
                    guard builder.covers(token, in: state.store, isAsked: indices != nil) else { continue }
                    look(&builder, token, state.store)
                }
            }
        }
        return builder
    }
}

/// The tokens that a summary is about. Each token is looked up at once and kept as its index, which takes less memory.
struct AskedTokens {
    private(set) var indices: [Int32] = []
    private(set) var unknownCount = 0

    /// - Parameter token: hex. A text that is not hex, or not a known token, is counted as unknown.
    mutating func add(_ token: String, in simulator: APNSSimulator) {
        let index = TokenHex.decode(token).flatMap { bytes in
            simulator.shared.withState { $0.store.tokens.find(bytes.span, hash: TokenTable.hash(bytes.span)) }
        }
        if let index { self.indices.append(Int32(index)) } else { self.unknownCount += 1 }
    }
}
