import Listening
import Redaction

/// Who may ask the admin port about the worker's knowledge. Probes and metrics are open to everybody, as Kubernetes and
/// Prometheus need them. Pure.
enum AdminAccess: Equatable, Sendable {
    /// Clients whose requests name this machine as the host. Other machines cannot reach the port, and no token is set.
    case local
    /// A client that sends the token of `admin.token-file`.
    case token
    /// Nobody may ask. The text says why, and what to set.
    case nobody(String)

    /// Decides from the settings who may ask.
    init(_ admin: WorkerConfiguration.Admin) {
        guard !RequestGuard.isLoopback(admin.host) else {
            self = admin.tokenFile == nil ? .local : .token
            return
        }
        switch (admin.tokenFile, admin.tls) {
        case (nil, _):
            self = .nobody(
                "admin.host is \(ShownText.name(admin.host)), which others can reach, and admin.token-file is not set")
        case (_, nil):
            self = .nobody(
                "admin.host is \(ShownText.name(admin.host)), and without admin.tls.certificate-file and admin.tls.key-file the token could be read on the network"
            )
        case (.some, .some): self = .token
        }
    }

    /// A description of those who may ask, for the log.
    var text: String {
        switch self {
        case .local: "for this machine"
        case .token: "with a token"
        case .nobody(let reason): "for nobody: \(reason)"
        }
    }

    /// Whether a request's `Host` names this machine. A page that reaches this machine under another name (DNS
    /// rebinding) sends that other name.
    static func isLocal(authority: String?) -> Bool { RequestGuard.isLoopback(authority: authority) }
}

extension WorkerConfiguration {
    /// Why a worker with these settings answers nobody on the admin port's pages about its knowledge; `nil` when it
    /// answers.
    public var closedPages: String? {
        guard case .nobody(let reason) = AdminAccess(self.admin) else { return nil }
        return
            "/status, /page, /activities, /audiences and /drain on the admin port will answer no client: \(reason). /healthz, /readyz and /metrics are not affected"
    }
}
