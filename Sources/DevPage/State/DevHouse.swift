import APNSSimulator
import DeviceModel
import Foundation
import KafkaLog
import Logging
import PushInspection
import PushModel
import PushWorker
import Synchronization

/// The work behind the page: reads the topics, looks at the phones, plays the app on them, and publishes.
final class DevHouse: Sendable {
    let settings: DevPageSettings
    let store: TimelineStore
    let simulator: APNSSimulator
    let worker: WorkerService
    private let publisher: EventPublisher
    let follower: TopicFollower
    let logger: Logger
    /// Number of update tokens taken from the simulator so far. They belong to cards that starts put up.
    let updateTokensTaken = Mutex(0)
    /// References of the simulator to the members of each audience, by the audience's id.
    let memberReferences = Mutex<[Int: [APNSSimulator.TokenReference?]]>([:])
    /// Number of events whose phone the worker is being asked for.
    let needsAsked = Mutex(0)

    /// Time between two looks at the phones when nothing has happened. They are needed because cards become stale by
    /// the clock.
    private static let lookSpacing = Duration.seconds(1)
    /// Number of looks at the phones after which followers are woken although there is no news. A closed follower is
    /// noticed this way.
    private static let lookCountBetweenHeartbeats = 15
    /// Least time between two looks at the phones when pushes arrive, so that a flood of pushes does not cause a look
    /// for each.
    private static let lookDistance = Duration.milliseconds(40)
    private static let tokenByteCount = 32

    init(
        _ settings: DevPageSettings, store: TimelineStore, simulator: APNSSimulator, worker: WorkerService,
        logger: Logger
    ) throws {
        self.settings = settings
        self.store = store
        self.simulator = simulator
        self.worker = worker
        self.logger = logger
        let log: KafkaLogHandler = { line in
            logger.log(level: line.severity <= 3 ? .error : .debug, "\(line.facility): \(line.text)")
        }
        self.publisher = try EventPublisher(settings: settings.kafka, topic: settings.eventsTopic, log: log)
        self.follower = try TopicFollower(
            [settings.eventsTopic, settings.outcomesTopic], partitionCount: settings.partitionCount,
            settings: settings.kafka, log: log)
        store.change { $0.setPartitionCount(settings.partitionCount) }
    }

    /// Works until the task is cancelled.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.publisher.run() }
            group.addTask {
                await self.follower.run(for: self)
            }
            group.addTask { await self.watchPhones() }
            group.addTask { await self.keepTime() }
        }
    }

    var nowMillis: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    // MARK: Topics

    func takeEvent(_ record: OwnedRecord) {
        let position = EventPosition(partition: record.partition, offset: record.offset)
        let nowMillis = self.nowMillis
        // The record may be a join by a card's update token. The phone with this token must be known before the join is
        // read.
        if record.key?.count ?? 0 >= Self.tokenByteCount * 2 {
            let unregistered = self.readUpdateTokens()
            if !unregistered.isEmpty { Task.detached { for one in unregistered { await self.register(one) } } }
        }
        let need = self.store.change {
            $0.listEvent(at: position, key: record.key, value: record.value, nowMillis: nowMillis)
        }
        guard let need else { return }
        // Reading continues meanwhile. The publisher's limit of waiting records bounds the number of tasks.
        Task.detached { await self.heed(need) }
    }

    // MARK: Publishing

    /// Publishes a record to the events topic.
    /// - Returns: the record's position.
    /// - Throws: `EventPublisher.Failure`, as does every method here that publishes.
    func publish(key: [UInt8], value: [UInt8]) async throws -> EventPosition {
        try await self.publisher.publish(key: key, value: value)
    }

    /// Creates a phone for an activity and reports its token to the worker, as an app and its server do.
    /// - Returns: the phone's id.
    @discardableResult
    func makePhone(activity: String, app: String) async throws -> Int {
        let token = Self.newToken()
        let phone = self.store.change { $0.meet(token: token, activity: activity, app: app) }
        self.simulator.setToken(token, .alive)
        try await self.register(token, activity: activity, app: app)
        return phone
    }

    func register(_ token: String, activity: String, app: String) async throws {
        let event: JSONTree = [
            "event": "register", "app": app.isEmpty ? nil : .string(app), "token": .string(token),
        ]
        let position = try await self.publisher.publish(key: Array(activity.utf8), value: event.bytes)
        self.store.change { $0.markOwnRecord(at: position) }
    }

    /// Publishes that the activity of a phone is over, as a server does.
    private func unregister(_ phone: SimulatedPhone) async throws {
        let event: JSONTree = ["event": "unregister", "app": phone.app.isEmpty ? nil : .string(phone.app)]
        let position = try await self.publisher.publish(key: Array(phone.activity.utf8), value: event.bytes)
        self.store.change { $0.markOwnRecord(at: position) }
    }

    static func newToken() -> String {
        let token = (0..<Self.tokenByteCount).map { _ in UInt8.random(in: 0...255) }
        var digits: [UInt8] = []
        Hex.append(token.span, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    // MARK: Phones

    /// What a person can do to a phone.
    enum PhoneAction: String, CaseIterable {
        case offline, online, swipe, reboot
        case changeToken = "change-token"
        case registerToken = "register-token"
        case removeApp = "remove-app"
        /// The server publishes that the activity is over.
        case unregister
        /// The card begins to listen to a channel, or stops.
        case listen, unlisten
    }

    /// Performs an action on a phone.
    /// - Parameter channel: the channel to listen to; `nil`: the newest.
    /// - Returns: why it cannot be done; `nil`: it is done.
    func perform(_ action: PhoneAction, on phone: SimulatedPhone, channel: String?) async throws -> String? {
        // The next request must see the result.
        defer { self.lookAtPhones() }
        if action == .registerToken {
            guard let token = phone.tokenToRegister else { return "the newest token is registered already" }
            guard !phone.activity.isEmpty else { return "nobody knows which activity the phone shows" }
            if let membership = self.store.read({ $0.membershipToRenew(of: phone) }) {
                try await self.rejoin(token, membership, of: phone)
                return nil
            }
            try await self.register(token, activity: phone.activity, app: phone.app)
            self.addNote(
                phone.unreportedToken == nil
                    ? "The server has registered the phone's token again."
                    : "The app reported the new token to its server, and the server registered it.", on: phone)
            return nil
        }
        if action == .unregister {
            guard !phone.activity.isEmpty else { return "nobody knows which activity the phone shows" }
            if let other = phone.replacedBy {
                return "the activity belongs to phone \(other) now, which an unregister would end"
            }
            try await self.unregister(phone)
            self.addNote("The server has unregistered the activity: nothing more is sent to it.", on: phone)
            return nil
        }
        if action == .listen || action == .unlisten {
            return self.setListening(phone, to: channel, isOn: action == .listen)
        }
        return self.performAtOnce(action, on: phone)
    }

    private func performAtOnce(_ action: PhoneAction, on phone: SimulatedPhone) -> String? {
        switch action {
        case .registerToken, .unregister, .listen, .unlisten: break
        case .offline:
            guard phone.isOnline else { return "the phone is away already" }
            _ = self.simulator.setOnline(token: phone.token, false)
            self.addNote("The phone is offline: APNs keeps the newest push for it.", on: phone)
        case .reboot: return self.reboot(phone)
        case .online:
            guard !phone.isRebooting else { return "the phone is starting up: it comes online by itself" }
            guard !phone.isOnline else { return "the phone is there already" }
            _ = self.simulator.setOnline(token: phone.token, true)
            self.addNote("The phone is back.", on: phone)
        case .swipe:
            guard !phone.isSwiped else { return "the card is gone already" }
            self.simulator.setToken(phone.token, .dead)
            self.store.change { $0.setSwiped(phone.id) }
            self.addNote("The card was swiped away: the activity is over, and APNs refuses its token.", on: phone)
        case .removeApp:
            guard !phone.isSwiped else { return "the card is gone already" }
            for card in self.store.change({ $0.removeApp(from: phone.id) }) {
                self.simulator.setToken(card.token, .dead)
                if let start = card.start { self.simulator.setToken(start.token, .dead) }
                self.addNote("The app was removed: its card is gone, and APNs refuses its tokens.", on: card)
            }
        case .changeToken:
            guard !phone.isSwiped else { return "the activity is over: it no longer gets a token" }
            let token = Self.newToken()
            self.simulator.rotateToken(from: phone.token, to: token)
            self.store.change { $0.addToken(token, to: phone.id, isReported: false) }
            self.addNote(
                "The phone gave the app a new token, which the app has not reported to its server. APNs refuses the old one.",
                on: phone)
        }
        return nil
    }

    /// Takes the phone offline for as long as it needs to start up. Afterwards it has its card, its token and its
    /// newest stamps as before. Apple publishes nothing about what a real phone does.
    private func reboot(_ phone: SimulatedPhone) -> String? {
        guard !phone.isRebooting else { return "the phone is starting up already" }
        guard phone.isOnline else { return "the phone is away: bring it back first" }
        _ = self.simulator.setOnline(token: phone.token, false)
        self.store.change { $0.setRebooting(phone.id, true) }
        self.addNote(
            "The phone restarts. Nothing reaches it until it is up again: APNs keeps the newest push for it.", on: phone
        )
        Task.detached {
            try? await Task.sleep(for: self.settings.bootTime)
            // The phone's token may have changed meanwhile. A phone that the page has forgotten comes online all the
            // same.
            let known = self.store.read { $0.phones[phone.id] }
            _ = self.simulator.setOnline(token: (known ?? phone).token, true)
            guard let back = known else { return }
            self.store.change { $0.setRebooting(back.id, false) }
            self.addNote("The phone is up again, with its card and its token.", on: back)
            self.lookAtPhones()
        }
        return nil
    }

    func addNote(_ text: String) {
        let nowMillis = self.nowMillis
        self.store.change { $0.addNote(text, phone: 0, nowMillis: nowMillis) }
    }

    func addNote(_ text: String, on phone: SimulatedPhone) {
        let nowMillis = self.nowMillis
        self.store.change { $0.addNote(text, phone: phone.id, nowMillis: nowMillis) }
    }

    private func watchPhones() async {
        guard let keeper = self.store.keepers.enter() else { return }
        defer { keeper.leave() }
        var failedBefore = 0
        for await _ in keeper.wakes {
            await self.takeUpdateTokens()
            self.lookAtPhones()
            self.lookAtMembers()
            // Pushes that APNs did not take may be tried again, so ask the worker when.
            let failed = self.store.read { $0.failedPushes }
            if failed != failedBefore { await self.askWhatWaits(ageMillisMin: 0) }
            failedBefore = failed
            // If the sleep below is cancelled, the stream ends.
            let isCrowded = self.store.read { $0.isCrowded }
            try? await Task.sleep(
                for: isCrowded ? .milliseconds(DevPageLimits.crowdedDistanceMillis) : Self.lookDistance)
        }
    }

    private func keepTime() async {
        var lookCount = 0
        while !Task.isCancelled {
            // If the sleep is cancelled, the loop ends.
            try? await Task.sleep(for: Self.lookSpacing)
            await self.takeUpdateTokens()
            self.lookAtPhones()
            self.lookAtMembers()
            await self.askWhatWaits()
            let nowMillis = self.nowMillis
            self.store.change { $0.tick(nowMillis: nowMillis) }
            self.follower.choose()
            lookCount += 1
            if lookCount % Self.lookCountBetweenHeartbeats == 0 { self.store.followers.wakeAll() }
        }
    }

    func lookAtPhones() {
        let phones = self.store.read { $0.phonesInOrder.map { (id: $0.id, token: $0.token, start: $0.start) } }
        let nowMillis = self.nowMillis
        let nowSeconds = nowMillis / 1_000
        typealias Seen = (id: Int, shown: Shown, isOnline: Bool, channel: String?, type: String)
        let seen = phones.compactMap { phone -> Seen? in
            guard let device = self.simulator.device(token: phone.token) else { return nil }
            let card = Self.card(of: device, startedBy: phone.start)
            let shown = card.shown(atSeconds: nowSeconds, rules: .phone)
            // `attributesType` is a JSON string, quotes included.
            let type = (try? JSONTree.parse(card.attributesType))?.plainText ?? ""
            return (phone.id, shown, device.isOnline, device.channel, type)
        }
        self.store.change { timeline in
            for phone in seen {
                timeline.setShown(
                    phone.shown, isOnline: phone.isOnline, channel: phone.channel, attributesType: phone.type,
                    of: phone.id, nowMillis: nowMillis)
            }
        }
    }
}
