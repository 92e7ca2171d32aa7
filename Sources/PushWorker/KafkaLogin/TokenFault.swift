/// Why a source of tokens gave none: one line for an operator, with what to do. Holds no secret, and reads the same as long as the cause is the
/// same.
package struct TokenFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The causes there are. The raw values are labels of a metric.
    package enum Cause: String, Sendable, CaseIterable {
        /// A file cannot be read: of the token, of the client's secret, of authorities.
        case file
        /// What came is no token.
        case content
        /// What came has ended already, or is about to.
        case expired
        /// The command could not be started, or failed.
        case command
        /// Nothing came in time.
        case timeout
        /// The endpoint does not accept the client, or what it asks for.
        case refused
        /// The endpoint is not well, or is busy.
        case server
        /// The endpoint cannot be reached, or TLS with it fails.
        case network
    }

    /// What kind of cause it is.
    package var cause: Cause
    /// The setting that has to do with it, such as `kafka.oauth.token-file`.
    package var setting: String
    /// What is wrong with it, and what to do, without the setting's name.
    package var text: String

    package init(cause: Cause, setting: String, text: String) {
        self.cause = cause
        self.setting = setting
        self.text = text
    }

    package var description: String { "\(self.setting): \(self.text)" }
}
