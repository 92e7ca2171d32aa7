/// Why a transport or its provider keys cannot be set up. The description is one line for an operator: the setting, its
/// value, and what was expected. It never contains a secret.
public struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The setting at fault, such as `route production: provider key`.
    public var setting: String
    /// What is wrong with the setting. The text names the given value and says what was expected.
    public var detail: String

    public init(setting: String, detail: String) {
        self.setting = setting
        self.detail = detail
    }

    public var description: String { "\(self.setting): \(self.detail)" }
}
