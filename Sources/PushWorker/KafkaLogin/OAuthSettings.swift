import KafkaLog
public import Redaction

extension WorkerConfiguration.Kafka {
    /// Settings for the tokens of a login by OAUTHBEARER. Their source is a file, a command or an endpoint.
    public struct OAuth: Sendable, Hashable {
        /// A file with the token, which somebody else keeps up to date.
        public var tokenFile: String?
        /// A program that writes the token to its standard output, and the program's arguments.
        public var tokenCommand: [String] = []
        /// The URL of a server that gives tokens to clients.
        public var tokenEndpoint: String?
        /// The client id sent to the endpoint.
        public var clientID: String?
        /// A file that contains the client's secret.
        public var clientSecretFile: String?
        /// The scope that is requested from the endpoint.
        public var scope: String?
        /// A file of certificate authorities that are trusted for the endpoint instead of the system's.
        public var caFile: String?
        /// Extensions that are sent to brokers with the token, each `name=value`.
        public var extensions: [String] = []

        /// Settings without a login by OAUTHBEARER.
        public init() {}

        /// The settings that name a source and have a value, in the order of the table.
        var givenSources: [String] {
            [
                self.tokenFile == nil ? nil : "kafka.oauth.token-file",
                self.tokenCommand.isEmpty ? nil : "kafka.oauth.token-command",
                self.tokenEndpoint == nil ? nil : "kafka.oauth.token-endpoint",
            ].compactMap { $0 }
        }

        /// The source of tokens; `nil` when there is none, more than one, or one that lacks a setting.
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

        /// The extensions; `nil` when one of them is not valid.
        var readExtensions: [KafkaToken.Extension]? { Self.read(self.extensions) }

        /// Reads extensions from their texts.
        /// - Returns: `nil` when a text is not `name=value`, or a name occurs twice.
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

extension WorkerConfiguration.Kafka.OAuth: Redacted {}
