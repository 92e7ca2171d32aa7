public import DeviceModel

/// A quick look at very many phones.
extension APNSSimulator {
    /// A token that the simulator knows. The reference is valid for the simulator's whole life.
    public struct TokenReference: Hashable, Sendable {
        fileprivate let index: Int32
    }

    /// Number of tokens that are read under one lock, so that no push waits long.
    private static let tokensAtOnce = 2_048

    /// References of tokens (hex) for `glances`. An unknown token is added.
    /// - Returns: the references in the given order; `nil` if the token is not hex, or there is no room for it.
    public func references(tokens: [String]) -> [TokenReference?] {
        let decoded = tokens.map { TokenHex.decode($0) }
        return self.shared.withState { state in
            decoded.map { bytes in
                bytes.flatMap { state.store.findOrAdd($0) }.map { TokenReference(index: Int32($0)) }
            }
        }
    }

    /// What the phones behind tokens show, in the given order; for a push-to-start token, the newest card. The phones
    /// are read in parts, so changes made meanwhile may be missing.
    public func glances(_ tokens: [TokenReference]) -> [CardGlance] {
        var glances: [CardGlance] = []
        glances.reserveCapacity(tokens.count)
        let rules = self.shared.configuration.deviceRules
        let nowSeconds = self.nowSeconds()
        for start in stride(from: 0, to: tokens.count, by: Self.tokensAtOnce) {
            self.shared.look { state in
                for token in tokens[start..<min(tokens.count, start + Self.tokensAtOnce)] {
                    let entry = state.store.tokens[Int(token.index)]
                    let card = state.store.devices[Int(entry.device)]
                    glances.append(
                        CardGlance(
                            card: card.status(atSeconds: nowSeconds, rules: rules),
                            stampSeconds: card.stampSeconds == .min ? nil : card.stampSeconds,
                            contentHash: card.contentHash, isOnline: state.store.isOnline(Int(entry.device)),
                            isTokenAlive: entry.state == .alive))
                }
            }
        }
        return glances
    }
}
