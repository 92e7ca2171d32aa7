public import APNSProtocol
public import ArgumentParser

/// What a channel keeps, as an option: `none` or `most-recent`.
extension MessageStoragePolicy: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }

    public static var allValueStrings: [String] { Self.allCases.map(\.name) }

    public var defaultValueDescription: String { self.name }
}
