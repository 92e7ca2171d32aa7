import PushModel

/// What a channel stores for phones that are not connected when a broadcast is sent. The policy is fixed when the
/// channel is made.
public enum MessageStoragePolicy: UInt8, Sendable, CaseIterable {
    /// Nothing; APNs allows more broadcasts in return.
    case none = 0
    /// The most recent message, for at most `EventRules.broadcastStoredSecondsMax`.
    case mostRecent = 1

    /// The policy's name in our settings, options and JSON: `none`, `most-recent`.
    public var name: String {
        switch self {
        case .none: "none"
        case .mostRecent: "most-recent"
        }
    }

    /// The policy with this name; `nil` if there is none.
    public init?(name: String) {
        guard let policy = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = policy
    }
}

/// A request that makes, reads, deletes or lists channels (Apple: "Sending channel management requests to APNs"). The
/// channel's id and the request's id are in the fields that `BroadcastRequest` names.
public enum ChannelRequest {
    /// The part of `:path` before the bundle id.
    public static let pathPrefix: StaticString = "/1/apps/"
    /// The part of `:path` after the bundle id, in a request about one channel.
    public static let oneSuffix: StaticString = "/channels"
    /// The part of `:path` after the bundle id, in a request that lists all channels.
    public static let allSuffix: StaticString = "/all-channels"
    /// The field of a JSON body that has the storage policy, as the raw value of `MessageStoragePolicy`.
    public static let storagePolicyName: StaticString = "message-storage-policy"

    /// Maximum number of channels of an app in one environment, no matter who made them. APNs refuses to make another
    /// with `CannotCreateChannelConfig`.
    public static let countMax = 10_000

    /// Maximum number of bytes kept of an error, or of an answer about a single channel.
    public static let answerByteCountMax = 1_024
    /// Maximum number of bytes kept of a list. 10,000 ids take about 500,000 bytes today, but APNs promises no length.
    public static let listByteCountMax = 4_194_304

    /// The value of `:method`; `nil` for a push, which is not a request about channels.
    public static func method(_ kind: RequestKind) -> StaticString? {
        switch kind {
        case .device, .broadcast: nil
        case .createChannel: "POST"
        case .readChannel, .listChannels: "GET"
        case .deleteChannel: "DELETE"
        }
    }

    /// The value of `:path` for an app; `nil` for a push, which is not a request about channels.
    public static func pathValue(_ kind: RequestKind, bundleID: String) -> [UInt8]? {
        let suffix: StaticString
        switch kind {
        case .device, .broadcast: return nil
        case .createChannel, .readChannel, .deleteChannel: suffix = Self.oneSuffix
        case .listChannels: suffix = Self.allSuffix
        }
        var value: [UInt8] = []
        value.append(utf8: Self.pathPrefix)
        value += bundleID.utf8
        value.append(utf8: suffix)
        return value
    }

    /// Whether the request carries `apns-channel-id`.
    public static func namesChannel(_ kind: RequestKind) -> Bool {
        switch kind {
        case .broadcast, .readChannel, .deleteChannel: true
        case .device, .createChannel, .listChannels: false
        }
    }

    /// Whether the request has a body. A GET or DELETE has none.
    public static func hasBody(_ kind: RequestKind) -> Bool {
        switch kind {
        case .device, .broadcast, .createChannel: true
        case .readChannel, .deleteChannel, .listChannels: false
        }
    }

    /// Maximum number of bytes kept of the body of an answer to this kind of request.
    public static func answerByteCountMax(_ kind: RequestKind) -> Int {
        kind == .listChannels ? Self.listByteCountMax : Self.answerByteCountMax
    }

    /// The body of a request that makes a channel for Live Activities.
    public static func creationBody(_ policy: MessageStoragePolicy) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { json in
                json.member(Self.storagePolicyName, policy.rawValue)
                json.member("push-type", literal: "LiveActivity")
            }
        }
    }
}
