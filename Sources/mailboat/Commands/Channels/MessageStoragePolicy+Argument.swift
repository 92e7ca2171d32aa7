public import APNSProtocol
public import ArgumentParser

/// A channel's storage policy as an option: `none` or `most-recent`.
extension MessageStoragePolicy: ExpressibleByArgument {
    /// The policy with this name; `nil`: no policy has it.
    public init?(argument: String) { self.init(name: argument) }

    /// The names, as help and completion show them.
    public static var allValueStrings: [String] { Self.allCases.map(\.name) }

    /// Empty: the parser would otherwise describe each policy by its number instead of its name.
    public static var allValueDescriptions: [String: String] { [:] }

    /// The name, where help shows a default.
    public var defaultValueDescription: String { self.name }
}
