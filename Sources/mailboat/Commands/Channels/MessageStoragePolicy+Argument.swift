public import APNSProtocol
public import ArgumentParser

/// What a channel keeps, as an option: `none` or `most-recent`.
extension MessageStoragePolicy: ExpressibleByArgument {
    /// `nil`: no policy has this name.
    public init?(argument: String) { self.init(name: argument) }

    /// The names, as help and completion show them.
    public static var allValueStrings: [String] { Self.allCases.map(\.name) }

    /// None: the default describes each number, not each name.
    public static var allValueDescriptions: [String: String] { [:] }

    /// The name, where help shows a default.
    public var defaultValueDescription: String { self.name }
}
