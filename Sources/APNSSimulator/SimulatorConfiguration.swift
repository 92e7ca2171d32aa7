public import DeviceModel

/// How the simulated APNs behaves. The defaults are what APNs was seen to do, as far as it is known.
public struct SimulatorConfiguration: Sendable {
    /// Which of Apple's two services is simulated. It decides which provider keys are good here.
    public enum Environment: String, Sendable, CaseIterable { case production, development }
    /// What becomes of a token that nobody has used before.
    public enum UnknownTokens: String, Sendable, CaseIterable {
        /// A well-formed token never seen before gets a device.
        case accept
        /// It is answered 400 `BadDeviceToken`.
        case reject
    }
    /// How closely the server looks at requests.
    public enum Mode: String, Sendable, CaseIterable {
        /// Everything is checked, devices are kept.
        case full
        /// Answers 200 to every request that has a header block and a body; nothing else is looked at. For benchmarks of a sender.
        case sink
    }

    /// How update tokens of started cards come back.
    public struct UpdateTokenReturn: Sendable, Equatable {
        /// The share of cards whose token comes back at all, 0...1. Of 14 starts on idle phones, a developer got 5 tokens.
        public var share: Double
        /// How long it takes, milliseconds: any time in this range, drawn with the simulator's seed.
        public var delayMillis: ClosedRange<Int64>

        /// Always, and at once, unless told otherwise.
        public init(share: Double = 1, delayMillis: ClosedRange<Int64> = 0...0) {
            self.share = share
            self.delayMillis = delayMillis
        }
    }

    /// Where to listen.
    public var host = "127.0.0.1"
    /// 0: any free port.
    public var port = 0
    /// Where questions about channels are taken, on `host`, as Apple's service has ports of their own for them; 0: any free port. `nil`:
    /// nowhere, and channels are made by `createChannel` only.
    public var managementPort: Int?
    /// Which of Apple's two services is simulated.
    public var environment = Environment.production
    /// How closely the server looks at requests.
    public var mode = Mode.full
    /// Event loops. One is the same on every run; more serve more connections.
    public var threadCount = 1
    /// Bundle ids that exist. Empty: every topic of the right form.
    public var apps: [String] = []
    /// What becomes of a token that nobody has used before.
    public var unknownTokens = UnknownTokens.accept
    /// Devices kept at most, and tokens; further tokens are answered 503 `ServiceUnavailable` and counted.
    public var devicesMax = 4_000_000
    /// What the phones do with time, stamps and budget.
    public var deviceRules = DeviceRules.phone
    /// A `start` over `DeviceRules.startBudget` is answered 429 `TooManyRequests`, and not 200 for nothing.
    public var refusesStartsOverBudget = false
    /// Whether and when the app of a card that a `start` put up tells its server the card's update token.
    public var updateTokens = UpdateTokenReturn()
    /// More pushes at priority 10 to one device in a rolling hour are recorded as a violation. `nil`: not watched.
    public var watchedBudgetPerHour: Int?
    /// Two pushes to one device closer than this are recorded as a violation, milliseconds. `nil`: not watched.
    public var watchedSpacingMillis: Int64?
    /// Two broadcasts to one channel closer than this are recorded as a violation, milliseconds. `nil`: not watched.
    public var watchedChannelSpacingMillis: Int64?
    /// Pushes to one device per minute before 429 `TooManyRequests`, with as much burst. `nil`: no limit; Apple publishes none.
    public var devicePushesPerMinuteMax: Int?
    /// Bundle ids without the capability for broadcasts: 400 `FeatureNotEnabled`.
    public var appsWithoutBroadcasts: [String] = []
    /// Channels that an app may have; further ones are answered 400 `CannotCreateChannelConfig`.
    public var channelsPerAppMax = 10_000
    /// Broadcasts to one channel per minute before 429 `TooManyRequests`, with as much burst. `nil`: no limit. Apple publishes none; a server
    /// in production saw 429 above about 4.
    public var channelPushesPerMinuteMax: Int? = 4
    /// How an app without channels is told so: `true` with an empty body, `false` with an empty list. Apple's page says both.
    public var listsNoChannelsWithoutBody = false
    /// A push whose `aps` the phone could not decode: `true` refuses it (400 `InvalidPushType`, a broadcast 400 `BadRequestPayload`), `false`
    /// takes it as APNs does, and the phone shows nothing. It is recorded as a violation either way.
    public var refusesMeaninglessPayloads = false

    /// SETTINGS_MAX_CONCURRENT_STREAMS once a provider token was accepted.
    public var concurrentStreamsMax: UInt32 = 1_000
    /// One stream until then, as Apple documents.
    public var opensWithOneStream = true
    /// A 4xx (but 410) lowers the limit to 1 until the next 200, as was seen in 2016.
    public var collapsesOnRejection = false
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes.
    public var initialWindowByteCount: UInt32 = 65_535
    /// SETTINGS_MAX_FRAME_SIZE, bytes. 16,384...16,777,215.
    public var frameByteCountMax: UInt32 = 16_384
    /// SETTINGS_HEADER_TABLE_SIZE, bytes.
    public var headerTableByteCount: UInt32 = 4_096
    /// SETTINGS_MAX_HEADER_LIST_SIZE, bytes, counted as in RFC 9113 §6.5.2.
    public var headerListByteCountMax: UInt32 = 8_000
    /// Connections served at once; more are closed at once and counted.
    public var connectionsMax = 10_000
    /// Violations kept; more are only counted.
    public var violationsMax = 1_000

    /// What happens to phones is appended to this file and read again at the next start, so that the phones outlive the server. `nil`: they
    /// end with it. Not with `.sink`, which has no phones.
    public var journalPath: String?

    /// Told of each push to a phone that `wantsPush` wants, in order, whatever becomes of it. It is called while the simulator is
    /// locked: it has to be quick, and must not ask the simulator anything. `nil`: nobody watches, which costs nothing.
    public var onPush: (@Sendable (ObservedPush) -> Void)?
    /// Asked before each call of `onPush` whether the push is worth a copy. It gets the token as it stands in the path, and the body. It is called as
    /// `onPush` is. `nil`: each push is.
    public var wantsPush: (@Sendable (PushGlimpse, _ token: Span<UInt8>, _ body: Span<UInt8>) -> Bool)?
    /// Told of each broadcast, as `onPush` is of pushes; only where that is set, too. `nil`: nobody watches.
    public var onBroadcast: (@Sendable (ObservedBroadcast) -> Void)?
    /// The address at which a person can look at a push to a phone, by its id: answers have it in the field `mailboat-page`. It is asked for
    /// each answer to a push that `wantsPush` wants, and has to be quick. `nil`, or none for an id: no such field.
    public var pageOfPush: (@Sendable (_ messageID: String) -> String?)?
    /// What the app's own code would find wrong with a `content-state`, such as a property that is missing; `nil`: nothing. A push with such
    /// content shows nothing, as on a phone whose app cannot decode it. Not asked again when a journal is read. It is called as `onPush` is.
    /// `app` gives the bundle id of the token's app; empty: not known.
    public var contentFault: (@Sendable (_ contentState: Span<UInt8>, _ app: () -> String) -> String?)?

    /// `false`: a provider token's signature is not checked and its key need not be registered. For other people's load generators.
    public var checksSignatures = true
    /// All randomness: jitter, rates of faults, ids. The same seed and the same requests give the same answers.
    public var randomSeed: UInt64 = 1
    /// The server's and the phones' wall clock, milliseconds since 1970. `nil`: the system's.
    public var clock: (@Sendable () -> Int64)?

    /// The defaults.
    public init() {}
}
