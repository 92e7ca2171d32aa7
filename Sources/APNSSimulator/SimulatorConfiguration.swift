public import DeviceModel

/// How the simulated APNs behaves. The defaults are what APNs was seen to do, as far as known.
public struct SimulatorConfiguration: Sendable {
    /// The simulated environment. It decides which provider keys are valid here.
    public enum Environment: String, Sendable, CaseIterable { case production, development }
    /// What happens to a token that was never used before.
    public enum UnknownTokens: String, Sendable, CaseIterable {
        /// The token gets a device, if it is well-formed.
        case accept
        /// The token is answered 400 `BadDeviceToken`.
        case reject
    }
    /// How thoroughly the server checks requests.
    public enum Mode: String, Sendable, CaseIterable {
        /// Everything is checked, devices are kept.
        case full
        /// Every request with a body and enough header fields is answered 200, without further checks. It is for
        /// benchmarks of a sender.
        case sink
    }

    /// How apps report the update tokens of started cards.
    public struct UpdateTokenReturn: Sendable, Equatable {
        /// The share of cards whose token is reported at all, 0...1. Of 14 starts on idle phones, a developer got 5
        /// tokens.
        public var share: Double
        /// The delay, milliseconds: any time in this range, drawn with the simulator's seed.
        public var delayMillis: ClosedRange<Int64>

        /// By default, each token is reported at once.
        public init(share: Double = 1, delayMillis: ClosedRange<Int64> = 0...0) {
            self.share = share
            self.delayMillis = delayMillis
        }
    }

    /// The host to listen on.
    public var host = "127.0.0.1"
    /// The port for pushes; 0 for any free one.
    public var port = 0
    /// The port for requests about channels, on `host`; 0 for any free one. Apple's service has separate ports for
    /// them, too. With `nil` there is no such port, and only `createChannel` makes channels.
    public var managementPort: Int?
    /// The simulated environment.
    public var environment = Environment.production
    /// How thoroughly the server checks requests.
    public var mode = Mode.full
    /// Number of event loops. With one, the same requests always give the same results. More loops serve more
    /// connections.
    public var threadCount = 1
    /// Bundle ids that exist; empty allows every topic of the right form.
    public var apps: [String] = []
    /// What happens to a token that was never used before.
    public var unknownTokens = UnknownTokens.accept
    /// Maximum number of devices, and of tokens. Further tokens are answered 503 `ServiceUnavailable` and counted.
    public var devicesMax = 4_000_000
    /// The phones' rules about time, stamps and budget.
    public var deviceRules = DeviceRules.phone
    /// Whether a `start` over `DeviceRules.startBudget` is answered 429 `TooManyRequests`, instead of 200 without
    /// effect.
    public var refusesStartsOverBudget = false
    /// Whether and when the app of a started card reports the card's update token to its server.
    public var updateTokens = UpdateTokenReturn()
    /// Maximum number of pushes at priority 10 to one device in a rolling hour; more are a violation. `nil` for no
    /// check.
    public var watchedBudgetPerHour: Int?
    /// Least time between two pushes to one device, milliseconds; less is a violation. `nil` for no check.
    public var watchedSpacingMillis: Int64?
    /// Least time between two broadcasts to one channel, milliseconds; less is a violation. `nil` for no check.
    public var watchedChannelSpacingMillis: Int64?
    /// Maximum number of pushes to one device per minute; more get 429 `TooManyRequests`. A burst may have all of them
    /// at once. `nil`: no limit; Apple publishes none.
    public var devicePushesPerMinuteMax: Int?
    /// Bundle ids without the capability for broadcasts. Their broadcasts, and requests about their channels, get 400
    /// `FeatureNotEnabled`.
    public var appsWithoutBroadcasts: [String] = []
    /// Maximum number of channels of an app; further ones are answered 400 `CannotCreateChannelConfig`.
    public var channelsPerAppMax = 10_000
    /// Maximum number of broadcasts to one channel per minute; more get 429 `TooManyRequests`. A burst may have all of
    /// them at once. `nil`: no limit. Apple publishes none; a server in production saw 429 above about 4.
    public var channelPushesPerMinuteMax: Int? = 4
    /// Whether an app without channels gets an empty body instead of an empty list. Apple's page describes both.
    public var listsNoChannelsWithoutBody = false
    /// Whether a push whose `aps` the phone cannot decode is refused (400 `InvalidPushType`, a broadcast 400
    /// `BadRequestPayload`). If not, it is accepted as by APNs, and the phone shows nothing. Such a push is a violation
    /// either way.
    public var refusesMeaninglessPayloads = false

    /// SETTINGS_MAX_CONCURRENT_STREAMS once a provider token was accepted.
    public var concurrentStreamsMax: UInt32 = 1_000
    /// Whether only one stream is allowed until a provider token was accepted, as Apple documents.
    public var opensWithOneStream = true
    /// Whether a 4xx (except 410) lowers the limit to 1 until the next 200, as was seen in 2016.
    public var collapsesOnRejection = false
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes.
    public var initialWindowByteCount: UInt32 = 65_535
    /// SETTINGS_MAX_FRAME_SIZE, bytes. 16,384...16,777,215.
    public var frameByteCountMax: UInt32 = 16_384
    /// SETTINGS_HEADER_TABLE_SIZE, bytes.
    public var headerTableByteCount: UInt32 = 4_096
    /// SETTINGS_MAX_HEADER_LIST_SIZE, bytes, counted as in RFC 9113 §6.5.2.
    public var headerListByteCountMax: UInt32 = 8_000
    /// Maximum number of open connections. A further one is closed immediately and counted.
    public var connectionsMax = 10_000
    /// Maximum number of violations that are kept; more are only counted.
    public var violationsMax = 1_000

    /// A file to which everything that happens to phones is appended. It is read at the next start, so that the phones
    /// survive a restart of the server. `nil` for none. Not with `.sink`, which has no phones.
    public var journalPath: String?

    /// Called for each push to a phone, in order, even if the push is refused. `wantsPush` can leave pushes out. The
    /// simulator is locked during the call: it must be quick, and must not call the simulator. `nil` costs nothing.
    public var onPush: (@Sendable (ObservedPush) -> Void)?
    /// Called before each `onPush`, to decide whether the push is worth a copy. It gets the token as in the path, and
    /// the body. The rules for `onPush` apply. `nil` wants each push.
    public var wantsPush: (@Sendable (PushGlimpse, _ token: Span<UInt8>, _ body: Span<UInt8>) -> Bool)?
    /// Called for each broadcast, like `onPush` for each push, and only if `onPush` is set, too. `nil` for no calls.
    public var onBroadcast: (@Sendable (ObservedBroadcast) -> Void)?
    /// The address at which a person can look at a push, by its id. Answers have it in the field `mailboat-page`. The
    /// closure is called for each answer to a push that `wantsPush` wants, and must be quick. Without an address there
    /// is no such field.
    public var pageOfPush: (@Sendable (_ messageID: String) -> String?)?
    /// What the app's own code would find wrong with a push's `content-state` or a start's `attributes`, such as a
    /// missing property; `nil` if nothing. A push with such content shows nothing, as on a phone whose app cannot
    /// decode it. The closure is not called for a push without `content-state`, nor when a journal is read. The rules
    /// for `onPush` apply. `app` gives the bundle id of the token's app; empty if unknown.
    public var contentFault: (@Sendable (_ content: PushContent, _ body: Span<UInt8>, _ app: () -> String) -> String?)?

    /// Whether a provider token's signature is checked, and its key must be registered. Switch this off for load
    /// generators that cannot sign.
    public var checksSignatures = true
    /// The seed of all randomness: jitter, rates of faults, ids. With the same seed and the same clock, the same
    /// requests get the same answers.
    public var randomSeed: UInt64 = 1
    /// The server's and the phones' wall clock, milliseconds since 1970; `nil` for the system's.
    public var clock: (@Sendable () -> Int64)?

    /// The defaults.
    public init() {}
}
