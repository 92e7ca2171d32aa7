public import APNSSimulator
public import ArgumentParser
import CommandSupport
import DeviceModel
import Foundation
import Listening
import Logging
import TLSSession

/// `mailboat apns-simulator`: a simulated APNs to push to, with devices to look at and faults on demand.
struct APNSSimulatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-simulator",
        abstract: "Run a server that behaves like APNs, with simulated phones behind it.",
        discussion: """
            It speaks TLS and HTTP/2. It checks every header, the provider token and the payload, and answers with Apple's status and \
            reason. It remembers what each phone shows. An HTTP control API shows devices and sets faults: 'curl localhost:2198' explains \
            it.

            Exit status: 0 when it was stopped (SIGINT, SIGTERM), 1 when it cannot be started, for example because a port is in use, 64 \
            when the command line is wrong.

            EXAMPLES
              Make throwaway credentials in ./apns (ca.pem, AuthKey_SIMULATOR1.p8) and listen on 2197, control API on 2198:
                mailboat apns-simulator --generate-credentials ./apns

              What a phone shows, and 503 for the next 100 pushes:
                curl localhost:2198/devices/0a1b
                curl localhost:2198/faults -d '{"kind": "answer", "reason": "ServiceUnavailable", "count": 100}'

              TCP resets in one of a hundred pushes ('curl localhost:2198' lists every fault, such as half-open connections):
                curl localhost:2198/faults -d '{"kind": "then", "action": "reset", "rate": 0.01}'

              A push by hand:
                curl --http2 --cacert apns/ca.pem https://localhost:2197/3/device/0a1b \\
                  -H "authorization: bearer $(curl -s localhost:2198/provider-token)" \\
                  -H 'apns-topic: com.example.pizza.push-type.liveactivity' \\
                  -H 'apns-push-type: liveactivity' \\
                  -d '{"aps": {"timestamp": 1760000000, "event": "update", "content-state": {"driver": "Anne"}}}'

              A broadcast channel, made and published to by hand; the phone behind 0a1b listens to it:
                mailboat apns-simulator --generate-credentials ./apns --manage-port 2196
                AUTH="authorization: bearer $(curl -s localhost:2198/provider-token)"
                curl -i --http2 --cacert apns/ca.pem \\
                  https://localhost:2196/1/apps/com.example.pizza/channels \\
                  -H "$AUTH" -d '{"message-storage-policy": 0, "push-type": "LiveActivity"}'
                curl localhost:2198/devices/0a1b -d '{"channel": "THE apns-channel-id ABOVE"}'
                curl --http2 --cacert apns/ca.pem \\
                  https://localhost:2197/4/broadcasts/apps/com.example.pizza \\
                  -H "$AUTH" \\
                  -H 'apns-channel-id: THE SAME' -H 'apns-push-type: liveactivity' \\
                  -H 'apns-priority: 5' -H 'apns-expiration: 0' \\
                  -d '{"aps": {"timestamp": 1760000000, "event": "update", "content-state": {"score": "1:0"}}}'
                curl localhost:2198/channels

              A card put up by push-to-start, the update token that its app gets two to five seconds later, and all phones at once:
                mailboat apns-simulator --generate-credentials ./apns \\
                  --update-token-delay 2000 --update-token-jitter 3000
                curl localhost:2198/update-tokens
                curl localhost:2198/summary

              A worker's own key, and a server as cheap as can be, for a benchmark:
                mailboat apns-simulator --generate-credentials ./apns \\
                  --key AuthKey_ABCDE12345.p8 --team-id TEAM567890
                mailboat apns-simulator --generate-credentials ./apns --sink
            """)

    @Option(help: "Address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "Port for pushes; 0 takes a free one.", form: .listeningPort)
    var port = 2197

    @Option(
        help: ArgumentHelp(
            "Port for questions about broadcast channels; 0 takes a free one. Without it there is none. Apple's: 2196, and 2195 in development.",
            valueName: "port"), form: .listeningPort)
    var managePort: Int?

    @Option(help: "Port of the HTTP control API; 0 takes a free one.", form: .listeningPort)
    var control = 2198

    @Option(help: "Address of the control API. It has no authentication: keep it on loopback.")
    var controlHost = "127.0.0.1"

    @Option(
        help: ArgumentHelp(
            "Directory for ca.pem, server.pem, server.key and AuthKey_<id>.p8; missing files are made, existing ones are reused.",
            valueName: "dir"))
    var generateCredentials: String?

    @Option(help: "PEM file of the server's certificate chain, instead of a generated one.")
    var certificate: String?

    @Option(help: "PEM file of the certificate's private key.")
    var certificateKey: String?

    @Option(
        name: .customLong("key"),
        help: ArgumentHelp(
            "A provider's key, .p8 or public PEM, instead of a generated one. May be repeated; named AuthKey_<key id>.p8 unless --key-id is given.",
            valueName: "file"), completion: .file())
    var keys: [String] = []

    @Option(help: "Key id: of --key when it is one file, or of the generated key.", form: .appleIdentifier)
    var keyID: String?

    @Option(help: "Team id of all keys.", form: .appleIdentifier)
    var teamID = "SIMULATEAM"

    @Option(
        name: .customLong("name"), help: "A DNS name or IP address the generated certificate is for. May be repeated.",
        form: .host)
    var names: [String] = ["localhost", "127.0.0.1", "::1"]

    @Option(
        name: .customLong("app"),
        help: "A bundle id that exists. May be repeated; none: every topic of the right form.", form: .bundleID)
    var apps: [String] = []

    @Option(help: "The service of Apple that is simulated: production or development.")
    var environment = SimulatorConfiguration.Environment.production

    @Option(help: "Tokens never seen before: accept (they get a phone) or reject (400 BadDeviceToken).")
    var unknownTokens = SimulatorConfiguration.UnknownTokens.accept

    @Flag(help: "Answer 200 to everything that has headers and a body, and look at nothing else: for benchmarks.")
    var sink = false

    @Option(help: "Event loops.", form: .whole(1...64))
    var threads = 1

    @Option(help: "SETTINGS_MAX_CONCURRENT_STREAMS once a provider token was accepted.", form: .whole(0...UInt32.max))
    var streams: UInt32 = 1_000

    @Flag(help: "Lower the stream limit to 1 after a 4xx, until the next 200, as APNs was seen to do.")
    var collapseOnRejection = false

    @Option(help: "Answers wait this long, milliseconds.", form: .whole(0...Latency.millisMax))
    var latency: Int64 = 0

    @Option(help: "The most random delay on top of --latency, milliseconds.", form: .whole(0...Latency.millisMax))
    var jitter: Int64 = 0

    @Option(help: "429 for more pushes a minute than this to one phone.", form: .whole(0...Int.max))
    var devicePushesPerMinute: Int?

    @Option(
        help:
            "Starts by push that a phone shows within the window; further ones are accepted without a card. 0: all.",
        form: .whole(0...Self.startBudgetMax))
    var startBudget = 10

    @Option(help: "The window of --start-budget, seconds.", form: .whole(1...Self.startWindowMax))
    var startWindow: Int64 = 3_600

    @Flag(help: "Answer 429 to a start over the budget of its phone. APNs itself answers 200.")
    var refuseStarts = false

    @Option(help: "Share of started cards whose app reports an update token.", form: .number(0...1))
    var updateTokenShare = 1.0

    @Option(
        help: "How long after the start the app reports the token, milliseconds.",
        form: .whole(0...Self.updateTokenMillisMax))
    var updateTokenDelay: Int64 = 0

    @Option(help: "The most random delay on top of it, milliseconds.", form: .whole(0...Self.updateTokenMillisMax))
    var updateTokenJitter: Int64 = 0

    @Option(help: "Phones and tokens kept at most; a phone takes about 190 bytes.", form: .whole(1...Self.devicesMax))
    var devices = 4_000_000

    @Option(
        help: "429 for more broadcasts a minute than this to one channel; 0: never.",
        form: .whole(0...Self.channelPushesPerMinuteMax))
    var channelPushesPerMinute = 4

    @Option(help: "Channels that an app may have; further ones are refused.", form: .whole(0...Self.channelsPerAppMax))
    var channelsPerApp = 10_000

    @Option(
        name: .customLong("no-broadcasts"),
        help: ArgumentHelp(
            "A bundle id without the capability for broadcasts. May be repeated.", valueName: "app"), form: .bundleID)
    var appsWithoutBroadcasts: [String] = []

    @Flag(
        help:
            "List the channels of an app that has none with an empty body, not with an empty list: Apple's page describes both."
    )
    var emptyListBody = false

    @Option(
        help: "Record a violation for more pushes at priority 10 in an hour than this to one phone.",
        form: .whole(0...Int.max))
    var watchBudget: Int?

    @Option(
        help: "Record a violation for two pushes to one phone that are closer than this, milliseconds.",
        form: .whole(0...Int64.max))
    var watchSpacing: Int64?

    @Flag(help: "Refuse payloads that a phone could not decode; APNs takes them.")
    var strictPayloads = false

    @Flag(help: "Take provider tokens of any key, without checking their signature.")
    var anyKey = false

    @Option(
        help: ArgumentHelp(
            "A file that records what happens to phones, and is read at the start: the phones outlive this process, however it ends.",
            valueName: "file"), completion: .file())
    var journal: String?

    @Option(help: "Seed of all randomness.", form: .whole(0...UInt64.max))
    var seed: UInt64 = 1

    /// Upper limits of `--channel-pushes-per-minute` and `--channels-per-app`. They are far above what any test needs,
    /// and above Apple's own limit of 10,000 channels per app.
    private static let (channelPushesPerMinuteMax, channelsPerAppMax) = (1_000_000, 1_000_000)

    private static let startBudgetMax = 1_000
    private static let startWindowMax: Int64 = 7 * 86_400
    /// Upper limit of an update token's delay and jitter, in milliseconds: one day.
    private static let updateTokenMillisMax: Int64 = 86_400_000
    private static let devicesMax = 100_000_000

    func validate() throws {
        guard self.keyID == nil || self.keys.count <= 1 else {
            throw ValidationError("--key-id names one key, but --key is given \(self.keys.count) times")
        }
        guard self.generateCredentials != nil || (self.certificate != nil && self.certificateKey != nil) else {
            throw ValidationError(
                "no certificate: expected --generate-credentials DIR, or --certificate FILE and --certificate-key FILE")
        }
        guard self.journal == nil || !self.sink else {
            throw ValidationError("--journal keeps phones, and --sink has none")
        }
        guard self.generateCredentials != nil || !self.keys.isEmpty || self.anyKey || self.sink else {
            throw ValidationError("no provider key: expected --generate-credentials DIR, --key FILE or --any-key")
        }
    }

    func run() async throws {
        let logger = Logger(label: "mailboat.apns-simulator")
        let setup = try SimulatorSetup(self)
        let simulator: APNSSimulator
        do {
            simulator = try await APNSSimulator.start(
                self.simulatorConfiguration, credentials: setup.credentials, keys: setup.keys, logger: logger)
        } catch var fault as ListenFault {
            fault.setting =
                fault.setting == APNSSimulator.portSetting ? "--host and --port" : "--host and --manage-port"
            throw fault
        } catch let fault as JournalReader.Fault {
            throw CommandFailure("--journal: \(fault.description)")
        }
        simulator.setLatency(Latency(fixedMillis: self.latency, jitterMillis: self.jitter))
        ControlledCommand.say(
            "pushes        https://\(self.host):\(simulator.port)  (\(self.environment.rawValue)\(self.sink ? ", sink" : ""))"
        )
        if let port = simulator.managementPort { ControlledCommand.say("channels      https://\(self.host):\(port)") }
        for line in setup.lines { ControlledCommand.say(line) }

        let controlHost = self.controlHost
        let control = ControlServer(
            simulator: simulator, host: controlHost, port: self.control, providerTokens: setup.mint, logger: logger
        ) { port in
            ControlledCommand.say("control API   http://\(controlHost):\(port)  ('curl' it for help)")
        }
        try await ControlledCommand.serve(control, host: controlHost, port: self.control, logger: logger) {
            await simulator.stop()
        }
    }

    private var simulatorConfiguration: SimulatorConfiguration {
        var configuration = SimulatorConfiguration()
        configuration.host = self.host
        configuration.port = self.port
        configuration.managementPort = self.managePort
        configuration.channelPushesPerMinuteMax = self.channelPushesPerMinute == 0 ? nil : self.channelPushesPerMinute
        configuration.channelsPerAppMax = self.channelsPerApp
        configuration.appsWithoutBroadcasts = self.appsWithoutBroadcasts
        configuration.listsNoChannelsWithoutBody = self.emptyListBody
        configuration.environment = self.environment
        configuration.mode = self.sink ? .sink : .full
        configuration.threadCount = self.threads
        configuration.apps = self.apps
        configuration.unknownTokens = self.unknownTokens
        configuration.concurrentStreamsMax = self.streams
        configuration.collapsesOnRejection = self.collapseOnRejection
        configuration.devicePushesPerMinuteMax = self.devicePushesPerMinute
        configuration.devicesMax = self.devices
        configuration.deviceRules.startBudget = self.startBudget == 0 ? nil : self.startBudget
        configuration.deviceRules.startWindowSeconds = self.startWindow
        configuration.refusesStartsOverBudget = self.refuseStarts
        configuration.updateTokens = SimulatorConfiguration.UpdateTokenReturn(
            share: self.updateTokenShare,
            delayMillis: self.updateTokenDelay...self.updateTokenDelay + self.updateTokenJitter)
        configuration.watchedBudgetPerHour = self.watchBudget
        configuration.watchedSpacingMillis = self.watchSpacing
        configuration.refusesMeaninglessPayloads = self.strictPayloads
        configuration.checksSignatures = !self.anyKey
        configuration.randomSeed = self.seed
        configuration.journalPath = self.journal
        return configuration
    }
}

extension SimulatorConfiguration.Environment: ExpressibleByArgument {}
extension SimulatorConfiguration.UnknownTokens: ExpressibleByArgument {}
