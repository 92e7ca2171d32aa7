import Synchronization
import TLSSession

/// What connections to an HTTP server need for TLS. Made once: to read the system's authorities takes longer than a request.
final class ClientTLS: Sendable {
    private let roots: TLSTrustRoots
    private let made = Mutex<TLSContext?>(nil)

    init(_ roots: TLSTrustRoots) { self.roots = roots }

    /// Throws when the authorities cannot be read.
    func context() throws -> TLSContext {
        if let made = self.made.withLock({ $0 }) { return made }
        let context = try TLSContext.client(roots: self.roots, applicationProtocols: [])
        self.made.withLock { $0 = context }
        return context
    }

    /// They are read anew for the next connection.
    func forget() { self.made.withLock { $0 = nil } }
}
