public import APNSProtocol
public import PushTransport

/// The JSON object about one channel, or about a failed request, as the command line and the admin port show it. Fields
/// that are `nil` are left out.
public struct ChannelRecord: Encodable, Sendable, Equatable {
    /// Why a request failed.
    public struct Failure: Encodable, Sendable, Equatable {
        /// The kind of failure, one of `ChannelFailure.Kind`.
        public var kind: String
        /// The cause, in words.
        public var cause: String
        /// The remedy, in words.
        public var remedy: String
        /// APNs' status, if APNs refused.
        public var status: UInt16?
        /// APNs' reason, if APNs refused.
        public var reason: String?

        public init(_ failure: ChannelFailure) {
            self.kind = failure.kind.rawValue
            self.cause = failure.cause.text
            self.remedy = failure.remedy
            switch failure.cause {
            case .refused(let status, let reason):
                self.status = status
                self.reason = reason
            case .limitReached: self.reason = "CannotCreateChannelConfig"
            default: break
            }
        }
    }

    /// The app's bundle identifier.
    public var app: String
    /// `production` or `development`.
    public var environment: String
    /// The channel's id.
    public var channel: String?
    /// The storage policy, `none` or `most-recent`; `nil` where it is not known.
    public var storage: String?
    /// Whether the request has deleted the channel.
    public var deleted: Bool?
    /// Why the request could not be carried out.
    public var error: Failure?

    public init(
        _ home: ChannelHome, channel: String? = nil, storage: MessageStoragePolicy? = nil, deleted: Bool? = nil,
        failure: ChannelFailure? = nil
    ) {
        self.app = home.bundleID
        self.environment = home.environment.name
        self.channel = channel
        self.storage = storage?.name
        self.deleted = deleted
        self.error = failure.map(Failure.init)
    }
}

/// The JSON object that lists the channels of an app in one environment.
public struct ChannelList: Encodable, Sendable, Equatable {
    /// The app's bundle identifier.
    public var app: String
    /// `production` or `development`.
    public var environment: String
    /// Number of channels.
    public var count: Int
    /// Maximum number of channels.
    public var limit = ChannelRequest.countMax
    /// The channels' ids, in APNs' order.
    public var channels: [String]

    public init(_ home: ChannelHome, _ channels: [String]) {
        self.app = home.bundleID
        self.environment = home.environment.name
        self.count = channels.count
        self.channels = channels
    }
}
