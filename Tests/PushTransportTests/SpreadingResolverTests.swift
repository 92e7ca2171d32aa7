import NIOCore
import PushModel
import Testing

@testable import PushTransport

@Suite struct SpreadingResolverTests {
    /// Each new connection goes to the address with the fewest connections. The name has eight addresses, as APNs' name
    /// has.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func connectionsSpreadOverAddresses(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let addresses = try (1...8).map { try SocketAddress(ipAddress: "17.0.0.\($0)", port: 443) }
        var inUse: [String: Int] = [:]
        var firsts: Set<String> = []
        for _ in 0..<16 {
            let order = SpreadingResolver.spread(addresses, inUse: inUse, using: &random)
            #expect(Set(order.map(\.ipAddress)).count == 8, "the others follow, should the first not answer")
            let chosen = try #require(order.first?.ipAddress)
            inUse[chosen, default: 0] += 1
            firsts.insert(chosen)
        }
        #expect(firsts.count == 8)
        #expect(inUse.values.allSatisfy { $0 == 2 })
    }
}
