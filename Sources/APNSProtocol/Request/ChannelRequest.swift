import PushModel

/// What a channel keeps for phones that are not connected when a broadcast comes. It is fixed when the channel is made.
public enum MessageStoragePolicy: UInt8, Sendable, CaseIterable {
    /// Nothing; APNs allows more broadcasts in return.
    case none = 0
    /// The most recent message, for at most `EventRules.broadcastStoredSecondsMax`.
    case mostRecent = 1

    /// What settings, options and JSON of ours call it: `none`, `most-recent`.
    public var name: String {
        switch self {
        case .none: "none"
        case .mostRecent: "most-recent"
        }
    }

    /// `nil`: no policy has this name.
    public init?(name: String) {
        guard let policy = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = policy
    }
}

/// A request that makes, reads, deletes or lists channels (Apple: "Sending channel management requests to APNs"). A channel's id and the
/// request's travel in the fields that `BroadcastRequest` names.
public enum ChannelRequest {
    /// What precedes the bundle id in `:path`.
    public static let pathPrefix: StaticString = "/1/apps/"
    /// What follows it, where one channel is meant.
    public static let oneSuffix: StaticString = "/channels"
    /// What follows it, where all are listed.
    public static let allSuffix: StaticString = "/all-channels"
    /// The member of a body that says what a channel keeps: the `MessageStoragePolicy`'s number.
    public static let storagePolicyName: StaticString = "message-storage-policy"

    /// Most channels of an app in one environment, whatever made them; one more is refused as `CannotCreateChannelConfig`.
    public static let countMax = 10_000

    /// Kept of an answer that describes a single channel, or says why not, bytes.
    public static let answerByteCountMax = 1_024
    /// Kept of a list, bytes. 10,000 ids as APNs makes them today are some 500,000; their length is not promised.
    public static let listByteCountMax = 4_194_304

    /// `:method`; `nil`: a push is no request about channels.
    public static func method(_ kind: RequestKind) -> StaticString? {
        switch kind {
        case .device, .broadcast: nil
        case .createChannel: "POST"
        case .readChannel, .listChannels: "GET"
        case .deleteChannel: "DELETE"
        }
    }

    /// `:path` for an app; `nil`: a push is no request about channels.
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

    /// Whether the request has a body: a GET and a DELETE have none.
    public static func hasBody(_ kind: RequestKind) -> Bool {
        switch kind {
        case .device, .broadcast, .createChannel: true
        case .readChannel, .deleteChannel, .listChannels: false
        }
    }

    /// Bytes of an answer's body that are kept, success or not.
    public static func answerByteCountMax(_ kind: RequestKind) -> Int {
        kind == .listChannels ? Self.listByteCountMax : Self.answerByteCountMax
    }

    /// The body of a request that makes a channel for Live Activities.
    public static func creationBody(_ policy: MessageStoragePolicy) -> [UInt8] {
        var body: [UInt8] = []
        body.append(utf8: "{\"")
        body.append(utf8: Self.storagePolicyName)
        body.append(utf8: "\":")
        JSONBytes.appendInteger(Int64(policy.rawValue), to: &body)
        body.append(utf8: ",\"push-type\":\"LiveActivity\"}")
        return body
    }
}
