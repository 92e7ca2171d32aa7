import KafkaLog
import LocalFiles
import Redaction

/// The source of tokens, one of three kinds.
enum TokenSource: Hashable, Sendable {
    /// A file that somebody else keeps up to date.
    case file(path: String)
    /// A program that writes a token to its standard output: its path, then its arguments.
    case command([String])
    /// A server that gives tokens to clients with a secret.
    case endpoint(TokenEndpoint)

    /// The setting that names the source.
    var setting: String {
        switch self {
        case .file: "kafka.oauth.token-file"
        case .command: "kafka.oauth.token-command"
        case .endpoint: "kafka.oauth.token-endpoint"
        }
    }

    /// The source as it may be shown.
    var shown: String {
        switch self {
        case .file(let path): ShownText.path(path) ?? "its file"
        case .command(let words): TokenCommand.shown(words)
        case .endpoint(let endpoint): endpoint.url.shown
        }
    }

    /// Whether the source is asked often. Asking a file costs nothing, and somebody else decides when it has a new
    /// token.
    var isWatched: Bool { if case .file = self { true } else { false } }

    /// Asks the source once. Blocks, for some seconds at most.
    func ask(wallMillis: () -> Int64) throws(TokenFault) -> ReadToken {
        let bytes: [UInt8]
        switch self {
        case .file(let path):
            do throws(FileFailure) { bytes = try InputFile.read(path, byteCountMax: TokenDocument.byteCountMax) } catch
            {
                throw TokenFault(cause: .file, setting: self.setting, text: error.description)
            }
        case .command(let words): bytes = try TokenCommand.run(words)
        case .endpoint(let endpoint): bytes = try endpoint.ask()
        }
        return try TokenDocument.read(bytes, from: self, wallMillis: wallMillis())
    }
}

extension TokenSource: Redacted {}
