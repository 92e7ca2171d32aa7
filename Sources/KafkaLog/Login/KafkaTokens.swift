import CRDKafka
import Glibc
import Redaction
import Synchronization

/// The token that the clients of a process log in with by OAUTHBEARER. The keeper of tokens gives each new one here, and all clients have it at once.
/// Any thread.
///
/// librdkafka would ask each client's program for tokens by a callback, on the thread that polls that client's main queue; some clients have no
/// such thread. So nobody waits to be asked: `rd_kafka_oauthbearer_set_token` may be called at any time, and no callback is set. librdkafka 2.0.2 shows
/// a new token on new connections only. Those that stand go on until their broker ends them.
public final class KafkaTokens: Sendable {
    private struct State {
        var token: KafkaToken?
        /// Why there is none that is good; `nil`: there is, or nobody knows yet.
        var reason: String?
        /// The texts of the token given last, which librdkafka and brokers may repeat.
        var withheld = WithheldValues()
        var clients: [Client] = []
        var onClient: (@Sendable () -> Void)?
    }

    private struct Client {
        weak var handle: ClientHandle?
    }

    /// librdkafka asks for another token at four fifths of this, which nobody answers.
    private static let toldLifeMillis: Int64 = 10 * 365 * 86_400_000

    private let state = Mutex(State())

    /// Nobody has given any yet.
    public init() {}

    /// - Parameter onClient: called whenever another client comes, on the thread that makes it: somebody needs tokens from now on.
    public func listen(_ onClient: @escaping @Sendable () -> Void) { self.state.withLock { $0.onClient = onClient } }

    /// Every client logs in with it from now on.
    public func give(_ token: KafkaToken) {
        let clients = self.state.withLock { state in
            state.token = token
            state.reason = nil
            state.withheld = WithheldValues()
            Self.parts(of: token).forEach { state.withheld.append($0) }
            return Self.living(&state)
        }
        for client in clients { Self.set(token, client) }
    }

    /// There is no token that is good. What clients had stays with them, as the broker's word counts.
    /// - Parameter reason: what an operator is told; no secret.
    public func fail(_ reason: String) {
        let clients = self.state.withLock { state in
            guard state.reason != reason else { return [ClientHandle]() }
            state.reason = reason
            return Self.living(&state)
        }
        for client in clients { rd_kafka_oauthbearer_set_token_failure(client.pointer, reason) }
    }

    /// Whether there is no token that is good.
    public var isFailing: Bool { self.state.withLock { $0.reason != nil } }

    /// Whether anybody needs tokens.
    public var hasClients: Bool { self.state.withLock { !Self.living(&$0).isEmpty } }

    /// Why nobody can log in now; `nil`: nothing is known.
    var failure: KafkaError? {
        self.state.withLock(\.reason).map { KafkaError(code: .authentication, text: KafkaError.noTokenStart + $0) }
    }

    /// What librdkafka or a broker says, without the token that was given last.
    func struck(from text: String) -> String { self.state.withLock(\.withheld).struck(from: text) }

    /// A client that logs in by OAUTHBEARER.
    func add(_ client: ClientHandle) {
        let onClient = self.state.withLock { state in
            _ = Self.living(&state)
            state.clients.append(Client(handle: client))
            return state.onClient
        }
        self.show(to: client)
        onClient?()
    }

    /// Until it has what was given last: somebody may give another meanwhile, and be overtaken.
    private func show(to client: ClientHandle) {
        var shown: KafkaToken?
        while true {
            let (token, reason) = self.state.withLock { ($0.token, $0.reason) }
            if let reason {
                rd_kafka_oauthbearer_set_token_failure(client.pointer, reason)
                return
            }
            guard let token, token != shown else { return }
            Self.set(token, client)
            shown = token
        }
    }

    private static func living(_ state: inout State) -> [ClientHandle] {
        state.clients.removeAll { $0.handle == nil }
        return state.clients.compactMap(\.handle)
    }

    private static func set(_ token: KafkaToken, _ client: ClientHandle) {
        let words = token.extensions.flatMap { [$0.name, $0.value] }
        let copies = words.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) }
        let reasonCapacity = 512
        // librdkafka says in it what it did not understand, which may be the token: nobody reads it. What it checks has been checked.
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let lifeEnd = Int64(max(0, token.expiresAtMillis)).addingReportingOverflow(Self.toldLifeMillis)
        let failure = rd_kafka_oauthbearer_set_token(
            client.pointer, token.value, lifeEnd.overflow ? .max / 1_000 : min(lifeEnd.partialValue, .max / 1_000),
            token.principal, &pointers, pointers.count, &reason, reasonCapacity)
        if failure != RD_KAFKA_RESP_ERR_NO_ERROR {
            rd_kafka_oauthbearer_set_token_failure(
                client.pointer, "librdkafka did not take the token (\(String(cString: rd_kafka_err2name(failure))))")
        }
    }

    /// The whole, and what lies between dots: claims are nobody's business either.
    private static func parts(of token: KafkaToken) -> [String] {
        [token.value] + token.value.split(separator: ".").filter { $0.utf8.count >= 16 }.map(String.init)
    }
}

extension KafkaTokens: Hashable {
    public static func == (left: KafkaTokens, right: KafkaTokens) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
