import Synchronization
import TLSSession

/// The TLS context for connections to an HTTP server. Made once, because reading the system's authorities takes longer
/// than a request.
final class ClientTLS: Sendable {
    private let roots: TLSTrustRoots
    private let made = Mutex<TLSContext?>(nil)

    init(_ roots: TLSTrustRoots) { self.roots = roots }

    /// The context. Throws when the authorities cannot be read.
    func context() throws -> TLSContext {
        if let made = self.made.withLock({ $0 }) { return made }
        let context = try TLSContext.client(roots: self.roots, applicationProtocols: [])
        self.made.withLock { $0 = context }
        return context
    }

    /// Forgets the context, so that the authorities are read again for the next connection.
    func forget() { self.made.withLock { $0 = nil } }
}
