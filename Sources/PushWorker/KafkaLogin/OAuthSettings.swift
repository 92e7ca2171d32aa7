import KafkaLog
public import Redaction

extension WorkerConfiguration.Kafka {
    /// Where the tokens of a login by OAUTHBEARER come from: one of a file, a command and an endpoint.
    public struct OAuth: Sendable, Hashable {
        /// A file that holds the token, kept up to date by somebody else.
        public var tokenFile: String?
        /// A program that writes the token to its standard output, and its arguments.
        public var tokenCommand: [String] = []
        /// The URL of a server that gives tokens to clients.
        public var tokenEndpoint: String?
        /// Who asks the endpoint.
        public var clientID: String?
        /// A file whose content is the client's secret.
        public var clientSecretFile: String?
        /// What the endpoint's token is to be good for.
        public var scope: String?
        /// A file of certificate authorities that are believed of the endpoint instead of the system's.
        public var caFile: String?
        /// Said to brokers beside the token, `name=value` each.
        public var extensions: [String] = []

        /// No login by OAUTHBEARER.
        public init() {}

        /// The settings that name a source and are given, in the order of the table.
        var givenSources: [String] {
            [
                self.tokenFile == nil ? nil : "kafka.oauth.token-file",
                self.tokenCommand.isEmpty ? nil : "kafka.oauth.token-command",
                self.tokenEndpoint == nil ? nil : "kafka.oauth.token-endpoint",
            ].compactMap { $0 }
        }

        /// `nil`: there is none, more than one, or not all that it needs.
        var source: TokenSource? {
            guard self.givenSources.count == 1 else { return nil }
            if let path = self.tokenFile { return .file(path: path) }
            if !self.tokenCommand.isEmpty { return .command(self.tokenCommand) }
            guard let url = self.tokenEndpoint.flatMap(TokenEndpoint.url), let clientID = self.clientID,
                let secretFile = self.clientSecretFile
            else { return nil }
            return .endpoint(
                TokenEndpoint(
                    url: url, clientID: clientID, secretFile: secretFile, scope: self.scope, caFile: self.caFile))
        }

        /// `nil`: one of them is none.
        var readExtensions: [KafkaToken.Extension]? { Self.read(self.extensions) }

        /// - Returns: `nil`: one of them is not `name=value`, or a name comes twice.
        static func read(_ texts: [String]) -> [KafkaToken.Extension]? {
            let read = texts.compactMap { text -> KafkaToken.Extension? in
                guard let sign = text.firstIndex(of: "=") else { return nil }
                return KafkaToken.Extension(
                    name: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
            }
            return read.count == texts.count && Set(read.map(\.name)).count == read.count ? read : nil
        }
    }
}

extension WorkerConfiguration.Kafka.OAuth: Untold {}
