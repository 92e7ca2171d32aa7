import PushModel

/// The kind of a record of `routed` (fan-out contract: Commands between workers). The record's header
/// `RecordHeader.kind` names it. A record without the header is an event that was on the wrong partition.
public enum RoutedKind: UInt8, Sendable, CaseIterable {
    /// An event, as its producer wrote it.
    case event
    /// A partition with members of an audience asks the audience's owner for the newest version.
    case question
    /// The owner of an audience sends a version to a partition.
    case version
    /// The owner of an audience informs a partition that a life of the audience is over.
    case void
    /// A partition reports to the owner of an audience how far the partition's members have been served.
    case report
    /// An operator stops the pushes to members of an audience, or of all audiences of an app, or lets them continue.
    case pause
    /// The owner of an audience asks the keeper of its app's channels for a channel for one life. It also reports that
    /// the life has ended or is forgotten.
    case channelWish
    /// The keeper reports to the owner of an audience what has become of its channel.
    case channelNews
    /// The partition of a channel asks the keeper of the app's channels whether the channel is kept for an audience.
    case keptQuestion
    /// The keeper answers whether the channel is kept for an audience.
    case keptAnswer
    /// A kind that a later release has added. For such a record, the engine is given the kind's name instead of the
    /// header `traceparent`.
    case unknown

    /// The header's value; `nil`: an event has no header, and the name of an unknown kind is not kept here.
    public var name: StaticString? {
        switch self {
        case .event, .unknown: nil
        case .question: "question"
        case .version: "version"
        case .void: "void"
        case .report: "report"
        case .pause: "pause"
        case .channelWish: "channel-wish"
        case .channelNews: "channel-news"
        case .keptQuestion: "kept-question"
        case .keptAnswer: "kept-answer"
        }
    }
    /// The kind with this name; `unknown` if a later release has added it.
    /// - Parameter name: the header's value.
    public init(named name: Span<UInt8>) {
        for kind in Self.allCases {
            guard let known = kind.name, known.utf8CodeUnitCount == name.count else { continue }
            if (0..<name.count).allSatisfy({ unsafe known.utf8Start[$0] == name[$0] }) {
                self = kind
                return
            }
        }
        self = .unknown
    }
}

/// The values of records with a kind, version 1: integers are LEB128, as in `state`. Beside this file, each kind of
/// value has a file that writes and reads it.
enum BusRecord {
    private static let version: UInt8 = 1
    private static let bundleIDByteCountMax = 512

    /// Writes the beginning of each value: its version, and the app that it is about.
    static func writeHead(_ bundleID: [UInt8], to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.run(bundleID.span)
    }
    static func readHead(_ reader: inout StateReader) throws(StateError) -> [UInt8] {
        let version = try reader.byte()
        guard version == Self.version else { throw .unknownVersion(version) }
        return try reader.run(byteCountMax: Self.bundleIDByteCountMax)
    }
}
