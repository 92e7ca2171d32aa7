import KafkaLog
import PushInspection
import PushWorker

/// Where the results of a story can be seen on this machine: on the page of `mailboat dev`, or at an `apns-simulator`.
enum StoryWitness: Equatable {
    /// The page of `mailboat dev`. If the page makes phones, it `registers` the update token of each card that a push
    /// has put up, as an app's server does.
    case page(origin: String, registers: Bool)
    /// The control port of `mailboat apns-simulator`, which can be asked for update tokens.
    case simulator(origin: String)
    case nobody

    /// How many times a simulated phone is asked for a new card's token, `tokenPause` apart.
    static let questionCount = 50
    private static let tokenPause = Duration.milliseconds(200)

    /// Looks for a page and a simulator. Blocks for a moment.
    /// - Parameters:
    ///   - brokers: where the story is published. A page of another Kafka shows nothing of it.
    ///   - page, simulator: their origins, such as `http://127.0.0.1:8484`.
    ///   - ask: gives the answer to a URL; `nil`: there is none.
    static func find(
        brokers: String, page: String, simulator: String, ask: (String) -> [UInt8]? = Self.answer
    ) -> Self {
        guard brokers.split(separator: ",").contains(where: Self.isLocal) else { return .nobody }
        if let about = Self.tree(ask("\(page)/api/about")), let kafka = about["bootstrap"]?.plainText,
            Self.named(brokers).contains(Self.named(kafka)[0])
        {
            return .page(origin: page, registers: about["makesPhones"] == .bool(true))
        }
        return ask("\(simulator)/stats") == nil ? .nobody : .simulator(origin: simulator)
    }

    /// Where the page shows the story of an activity or audience; `nil`: there is no page.
    func link(_ key: String) -> String? {
        guard case .page(let origin, _) = self else { return nil }
        return "\(origin)/#search=\(Snippets.percentEncoded(EntryQuery.text(ofActivity: key)))"
    }

    /// The update token of the card that a start to `startToken` has put up. Blocks until the app has the token, or for
    /// ten seconds.
    /// - Returns: the token; `nil`: no card appeared, its app got no token, or there is no one to ask.
    func updateToken(
        ofStartToken startToken: String, ask: (String) -> [UInt8]? = Self.answer,
        pause: () -> Void = { Sleeping.sleep(Self.tokenPause) }
    ) -> String? {
        guard case .simulator(let origin) = self else { return nil }
        for _ in 0..<Self.questionCount {
            let cards = Self.tree(ask("\(origin)/devices/\(startToken)"))?["starts"]
            if case .array(let starts)? = cards, let token = starts.last?["updateToken"]?.plainText { return token }
            pause()
        }
        return nil
    }

    private static func answer(_ url: String) -> [UInt8]? { LocalQuestion(url)?.answer() }

    private static func tree(_ bytes: [UInt8]?) -> JSONTree? { bytes.flatMap { try? JSONTree.parse($0) } }

    private static func isLocal(_ broker: Substring) -> Bool {
        broker.hasPrefix("127.0.0.1:") || broker.hasPrefix("localhost:") || broker.hasPrefix("[::1]:")
    }

    /// The brokers' addresses, with `localhost` as a number.
    private static func named(_ brokers: String) -> [String] {
        brokers.split(separator: ",", omittingEmptySubsequences: false).map { broker in
            broker.hasPrefix("localhost:") ? "127.0.0.1:\(broker.dropFirst("localhost:".count))" : String(broker)
        }
    }
}
