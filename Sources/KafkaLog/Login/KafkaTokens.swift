import CRDKafka
import Glibc
import Redaction
import Synchronization

/// Passes login tokens to the clients of a process that log in by OAUTHBEARER. `TokenKeeper` renews the token and gives
/// each new one to this object, which sets it in all clients. May be used from any thread.
///
/// librdkafka can ask for a token by a callback, on the thread that polls the client's main queue. Some clients have no
/// such thread, so no callback is set. Instead `rd_kafka_oauthbearer_set_token` is called whenever there is a new
/// token. librdkafka 2.0.2 uses a new token for new connections only. Existing connections continue until their broker
/// ends them.
public final class KafkaTokens: Sendable {
    private struct State {
        var token: KafkaToken?
        /// Why there is no valid token; `nil` when there is one, or when nothing is known yet.
        var reason: String?
        /// The last token and its parts, which must be removed from messages that repeat them.
        var withheld = WithheldValues()
        var clients: [Client] = []
        var onClient: (@Sendable () -> Void)?
    }

    private struct Client {
        weak var handle: ClientHandle?
    }

    /// Milliseconds that are added to a token's expiry when librdkafka gets the token. Otherwise librdkafka would ask
    /// for a new token after four fifths of the token's lifetime, and nobody here answers such a question.
    private static let reportedLifeMillis: Int64 = 10 * 365 * 86_400_000

    private let state = Mutex(State())

    /// Creates an instance that has no token yet.
    public init() {}

    /// Sets the closure that is called when a client is added, because tokens are needed from then on.
    /// - Parameter onClient: called for each client that is added later, on the thread that makes the client.
    public func listen(_ onClient: @escaping @Sendable () -> Void) { self.state.withLock { $0.onClient = onClient } }

    /// Sets the token with which every client logs in from now on. Afterwards `isFailing` is `false`.
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

    /// Remembers that there is no valid token. Clients keep their last token, because only a broker can decide to
    /// refuse it.
    /// - Parameter reason: the explanation for an operator, without secrets.
    public func fail(_ reason: String) {
        let clients = self.state.withLock { state in
            guard state.reason != reason else { return [ClientHandle]() }
            state.reason = reason
            return Self.living(&state)
        }
        for client in clients { rd_kafka_oauthbearer_set_token_failure(client.pointer, reason) }
    }

    /// Whether it is known that there is no valid token.
    public var isFailing: Bool { self.state.withLock { $0.reason != nil } }

    /// Whether any client needs tokens.
    public var hasClients: Bool { self.state.withLock { !Self.living(&$0).isEmpty } }

    /// The error of clients that cannot log in, because there is no valid token; `nil` while this is not known.
    var failure: KafkaError? {
        self.state.withLock(\.reason).map { KafkaError(code: .authentication, text: KafkaError.noTokenStart + $0) }
    }

    /// A text of librdkafka or of a broker, with the last token removed.
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

    /// Sets the last token or the reason of a failure in a new client. Another thread may give the client a newer token
    /// at that moment, and this method could overwrite the newer token. So the method repeats until the client has the
    /// newest token.
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
        // This text is not read, because it may repeat the token. `KafkaToken.init` has already checked what librdkafka
        // checks.
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

    /// The whole token and the longer parts between its dots. One of these has a JWT's claims, which must not be shown
    /// either.
    private static func parts(of token: KafkaToken) -> [String] {
        [token.value] + token.value.split(separator: ".").filter { $0.utf8.count >= 16 }.map(String.init)
    }
}

extension KafkaTokens: Hashable {
    public static func == (left: KafkaTokens, right: KafkaTokens) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
