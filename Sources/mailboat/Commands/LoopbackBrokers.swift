import Glibc
import KafkaLog
import NIOCore
import NIOPosix

/// Brokers that are all on this machine. A local port on which nothing listens refuses at once, but librdkafka tries
/// again until its time limit. With these brokers a command can give up sooner.
struct LoopbackBrokers: Equatable {
    struct Address: Equatable {
        var host: String
        var port: Int
    }

    /// How long a Kafka that is just being started may take until it listens.
    static let patience = Duration.seconds(5)
    private static let pause = Duration.milliseconds(200)
    private static let connectLimit = TimeAmount.seconds(2)

    let addresses: [Address]

    /// - Parameter list: brokers as `BrokerList` describes them.
    /// - Returns: `nil` if one of them may be elsewhere.
    init?(_ list: String) {
        var addresses: [Address] = []
        for broker in list.split(separator: ",") {
            var text = broker.drop { $0 == " " }
            if let sign = text.firstRange(of: "://") { text = text[sign.upperBound...] }
            while text.last == " " { text.removeLast() }
            guard !text.isEmpty else { continue }
            let colon = text.lastIndex(of: ":").flatMap { text[$0...].contains("]") ? nil : $0 }
            let host = text[..<(colon ?? text.endIndex)].drop { $0 == "[" }.prefix { $0 != "]" }
            guard let port = colon.map({ Int(text[text.index(after: $0)...]) }) ?? BrokerList.usualPort,
                Self.isLoopback(host)
            else { return nil }
            addresses.append(Address(host: String(host), port: port))
        }
        guard !addresses.isEmpty else { return nil }
        self.addresses = addresses
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        let isNumber = host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
        return host == "localhost" || host == "::1" || (isNumber && host.hasPrefix("127."))
    }

    /// Whether every broker refuses connections until `limit` has passed. Blocks until then, or until one of them does
    /// not refuse.
    /// - Parameters:
    ///   - refuses: whether a broker refuses a connection now.
    ///   - sleep: waits.
    func keepRefusing(
        within limit: Duration, refuses: (Address) -> Bool = Self.refuses,
        sleep: (Duration) -> Void = { Sleeping.sleep($0) }
    ) -> Bool {
        var left = limit
        while true {
            guard self.addresses.allSatisfy(refuses) else { return false }
            guard left > .zero else { return true }
            sleep(min(left, Self.pause))
            left -= Self.pause
        }
    }

    /// Opens a connection, and closes it.
    /// - Returns: whether each address of the host refuses. Any other failure is librdkafka's to report.
    private static func refuses(_ address: Address) -> Bool {
        do {
            try ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(Self.connectLimit)
                .connect(host: address.host, port: address.port).wait().close().wait()
            return false
        } catch let error as NIOConnectionError {
            return !error.connectionErrors.isEmpty
                && error.connectionErrors.allSatisfy { ($0.error as? IOError)?.errnoCode == ECONNREFUSED }
        } catch { return (error as? IOError)?.errnoCode == ECONNREFUSED }
    }
}
