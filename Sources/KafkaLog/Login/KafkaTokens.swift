import CRDKafka
import Glibc
import Redaction
import Synchronization

/// The token with which the clients of a process log in by OAUTHBEARER. The keeper of tokens gives each new one here,
/// and all clients have it at once. May be used from any thread.
///
/// librdkafka would ask each client's program for tokens by a callback, on the thread that polls that client's main
/// queue; some clients have no such thread. So no callback is set: `rd_kafka_oauthbearer_set_token` may be called at
/// any time, without being asked. librdkafka 2.0.2 shows a new token on new connections only. Existing connections
/// continue until their broker ends them.
public final class KafkaTokens: Sendable {
    private struct State {
        var token: KafkaToken?
        /// Why no valid token exists; `nil` when one does, or when nothing is known yet.
        var reason: String?
        /// The texts of the token given last, which librdkafka and brokers may repeat.
        var withheld = WithheldValues()
        var clients: [Client] = []
        var onClient: (@Sendable () -> Void)?
    }

    private struct Client {
        weak var handle: ClientHandle?
    }

    /// The lifetime reported to librdkafka. It asks for another token at four fifths of this, and nobody would answer.
    private static let reportedLifeMillis: Int64 = 10 * 365 * 86_400_000

    private let state = Mutex(State())

    /// An instance without a token yet.
    public init() {}

    /// Sets what is called when a client is added, on the thread that makes the client: tokens are needed from then on.
    /// - Parameter onClient: called for every further client.
    public func listen(_ onClient: @escaping @Sendable () -> Void) { self.state.withLock { $0.onClient = onClient } }

    /// Sets the token with which every client logs in from now on.
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

    /// Remembers that no valid token exists. Clients keep the token they have, because only the broker can refuse it.
    /// - Parameter reason: the explanation that an operator sees; without secrets.
    public func fail(_ reason: String) {
        let clients = self.state.withLock { state in
            guard state.reason != reason else { return [ClientHandle]() }
            state.reason = reason
            return Self.living(&state)
        }
        for client in clients { rd_kafka_oauthbearer_set_token_failure(client.pointer, reason) }
    }

    /// Whether no valid token exists.
    public var isFailing: Bool { self.state.withLock { $0.reason != nil } }

    /// Whether any client needs tokens.
    public var hasClients: Bool { self.state.withLock { !Self.living(&$0).isEmpty } }

    /// Why nobody can log in now; `nil`: nothing is known.
    var failure: KafkaError? {
        self.state.withLock(\.reason).map { KafkaError(code: .authentication, text: KafkaError.noTokenStart + $0) }
    }

    /// A text of librdkafka or of a broker, without the token that was given last.
    func struck(from text: String) -> String { self.state.withLock(\.withheld).struck(from: text) }

    /// Adds a client that logs in by OAUTHBEARER.
    func add(_ client: ClientHandle) {
        let onClient = self.state.withLock { state in
            _ = Self.living(&state)
            state.clients.append(Client(handle: client))
            return state.onClient
        }
        self.show(to: client)
        onClient?()
    }

    /// Repeats until the client has the token that was given last: another thread may give a new one meanwhile, and
    /// this one could overwrite it.
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
        // librdkafka writes here what it did not understand, which may be the token, so nobody reads it. What
        // librdkafka checks has been checked already.
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        let lifeEnd = Int64(max(0, token.expiresAtMillis)).addingReportingOverflow(Self.reportedLifeMillis)
        let failure = rd_kafka_oauthbearer_set_token(
            client.pointer, token.value, lifeEnd.overflow ? .max / 1_000 : min(lifeEnd.partialValue, .max / 1_000),
            token.principal, &pointers, pointers.count, &reason, reasonCapacity)
        if failure != RD_KAFKA_RESP_ERR_NO_ERROR {
            rd_kafka_oauthbearer_set_token_failure(
                client.pointer, "librdkafka did not take the token (\(String(cString: rd_kafka_err2name(failure))))")
        }
    }

    /// The whole token and the parts between its dots: the claims must not be shown either.
    private static func parts(of token: KafkaToken) -> [String] {
        [token.value] + token.value.split(separator: ".").filter { $0.utf8.count >= 16 }.map(String.init)
    }
}

extension KafkaTokens: Hashable {
    public static func == (left: KafkaTokens, right: KafkaTokens) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
