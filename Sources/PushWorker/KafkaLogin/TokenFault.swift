/// Why a source gave no token: one line for an operator, with what to do. Holds no secret. The text does not change
/// while the cause is the same.
package struct TokenFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// Causes of a fault. The raw values are labels of a metric.
    package enum Cause: String, Sendable, CaseIterable {
        /// The file of the token, of the client's secret or of the authorities cannot be read.
        case file
        /// The source's output is not a token.
        case content
        /// The token has expired already, or is about to.
        case expired
        /// The command could not be started, or failed.
        case command
        /// The source did not answer in time.
        case timeout
        /// The endpoint does not accept the client, or its request.
        case refused
        /// The endpoint has an internal error, or is busy.
        case server
        /// The endpoint cannot be reached, or TLS with it fails.
        case network
    }

    /// The cause.
    package var cause: Cause
    /// The setting to look at, such as `kafka.oauth.token-file`.
    package var setting: String
    /// What is wrong with the source, and what to do, without the setting's name.
    package var text: String

    package init(cause: Cause, setting: String, text: String) {
        self.cause = cause
        self.setting = setting
        self.text = text
    }

    package var description: String { "\(self.setting): \(self.text)" }
}
