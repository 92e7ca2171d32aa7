import Logging

/// Reports the state of a login to Kafka by OAUTHBEARER to readiness and the log.
struct LoginWatch {
    let keeper: TokenKeeper
    let hub: SnapshotHub
    let logger: Logger

    private static let interval: Duration = .milliseconds(500)

    /// Watches the login until the task is cancelled.
    func run() async {
        var logged = TokenRenewal.Validity.unknown
        while !Task.isCancelled {
            let validity = self.keeper.validity
            if validity != logged {
                self.log(validity, after: logged)
                logged = validity
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func log(_ validity: TokenRenewal.Validity, after former: TokenRenewal.Validity) {
        let complaint = Self.complaint(validity)
        self.hub.updateGroup { report in
            report.errors["login"] = complaint.flatMap { $0.isError ? $0.text : nil }
            report.loginWarning = complaint.flatMap { $0.isError ? nil : $0.text }
        }
        switch validity {
        case .unknown: break
        case .good:
            let source: Logger.Metadata = ["source": "\(self.keeper.source.setting)"]
            if case .unknown = former {
                self.logger.info("the login to Kafka uses tokens", metadata: source)
            } else {
                self.logger.notice("there are tokens for Kafka again", metadata: source)
            }
        case .worn(let fault):
            self.logger.warning("Kafka's token cannot be renewed; trying again", metadata: ["cause": "\(fault)"])
        case .missing(let fault):
            self.logger.error("there is no token to log in to Kafka with", metadata: ["cause": "\(fault)"])
        }
    }

    /// The complaint that readiness shows; `nil`: all is well.
    static func complaint(_ validity: TokenRenewal.Validity) -> (text: String, isError: Bool)? {
        switch validity {
        case .unknown, .good: nil
        // Clients still log in with the token that they have.
        case .worn(let fault): ("Kafka's token cannot be renewed, and will expire: \(fault)", false)
        case .missing(let fault): ("there is no token to log in to Kafka with: \(fault)", true)
        }
    }
}
