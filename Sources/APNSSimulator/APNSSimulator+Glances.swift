public import DeviceModel

/// What very many phones show, in passing.
extension APNSSimulator {
    /// Names a token that the simulator knows. It holds as long as the simulator.
    public struct TokenReference: Hashable, Sendable {
        fileprivate let index: Int32
    }

    /// Tokens looked at under one lock, so that no push waits long.
    private static let tokensAtOnce = 2_048

    /// Names tokens (hex) for `glances`; one never seen is made known.
    /// - Returns: in the order asked; `nil`: not the hex of a token, or no room for it.
    public func references(tokens: [String]) -> [TokenReference?] {
        let decoded = tokens.map { TokenHex.decode($0) }
        return self.shared.withState { state in
            decoded.map { bytes in
                bytes.flatMap { state.store.findOrAdd($0) }.map { TokenReference(index: Int32($0)) }
            }
        }
    }

    /// What the phones behind tokens show, in the order asked; of a push-to-start token, the newest card. Taken piece by piece: what changes
    /// meanwhile may be in it or not.
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
