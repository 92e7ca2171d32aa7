import APNSSimulator
import DeviceModel
import KafkaLog
import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge of channels: right runs pass, and each broken promise is found.
struct ChannelAuditTests {
    private static let channel = "AAAA"
    private static let (steady, sleepy) = ("0a", "0b")

    /// A channel that stores messages, three updates, and two phones. One phone is away for the last update.
    private struct Scene {
        var publications: [Publication] = []
        var outcomes: [[String]] = [["superseded"], ["delivered"], ["delivered"]]
        var reasons: [String?] = [nil, nil, nil]
        var entries: [JournalEntry]
        var deleted: Set<String> = []
        var published: Set<String>?
        /// Phones that replace those made from the journal, by token.
        var phones: [String: Device] = [:]

        static func event(_ number: Int) -> StoryEvent {
            var event = StoryEvent(
                .update, app: "com.example.pizza", contentState: "{\"goal\":\(number)}", priority: 10)
            event.timestampSeconds = Int64(100 + number)
            event.channel = ChannelAuditTests.channel
            return event
        }

        static func broadcast(_ number: Int, until seconds: Int64 = 3_600) -> JournalEntry {
            .broadcast(
                atMillis: Int64(100 + number) * 1_000, channel: ChannelAuditTests.channel, priority: 10,
                expirationSeconds: seconds, body: Self.event(number).payload(recordMillis: 0))
        }

        init() {
            for number in 0..<3 {
                self.publications.append(Publication(ChannelAuditTests.channel, Self.event(number)))
            }
            self.entries = [
                .channel(atMillis: 1, id: ChannelAuditTests.channel, app: "com.example.pizza", storage: .mostRecent),
                .listening(token: ChannelAuditTests.steady, channel: ChannelAuditTests.channel),
                .listening(token: ChannelAuditTests.sleepy, channel: ChannelAuditTests.channel),
                Self.broadcast(1),
                .presence(atMillis: 101_000, token: ChannelAuditTests.sleepy, isOnline: false),
                Self.broadcast(2),
                .presence(atMillis: 103_000, token: ChannelAuditTests.sleepy, isOnline: true),
            ]
        }

        func audit() throws -> ChaosAudit {
            var phones = JournaledPhones()
            var scene = ChaosAudit.ChannelScene()
            scene.deleted = self.deleted
            scene.published = self.published
            scene.rules = BroadcastRules(distanceMillis: 1_000, resumedMillis: [])
            for entry in self.entries {
                phones.apply(entry)
                scene.listeners.take(entry)
            }
            var logs = ChaosAudit.Logs()
            for (offset, publication) in self.publications.enumerated() {
                logs.events.append(
                    OwnedRecord(
                        partition: 3, offset: Int64(offset), timestampMillis: 100_000,
                        key: Array(publication.activity.utf8), value: publication.value))
                for name in self.outcomes[offset] {
                    let reason = self.reasons[offset].map { ",\"reason\":\"\($0)\"" } ?? ""
                    let json =
                        "{\"outcome\":\"\(name)\",\"topic\":\"events\",\"partition\":3,\"offset\":\(offset)\(reason)}"
                    logs.outcomes.append(
                        OwnedRecord(
                            partition: 3, offset: Int64(logs.outcomes.count), timestampMillis: 100_000,
                            key: Array(publication.activity.utf8), value: Array(json.utf8)))
                }
            }
            return try ChaosAudit(
                logs, publications: self.publications, acknowledgedCount: self.publications.count, topic: "events",
                budgetPerHour: 6, channels: scene
            ) { token in self.phones[token] ?? phones.device(token: token)?.device }
        }
    }

    @Test func whatIsRightPasses() throws {
        let audit = try Scene().audit()
        #expect(audit.faults == [])
        var expected = ChaosAudit.ChannelCounts(channels: 1, broadcasts: 2, listenersChecked: 2)
        expected.listenersEquivalent = 2
        (expected.listenersAway, expected.absences, expected.closestMillis) = (1, 1, 1_000)
        #expect(audit.channelCounts == expected)
        // Phones that only listen do not count as checked devices.
        #expect(audit.devicesChecked == 0)
    }

    /// The judge finds a phone that did not get the message that APNs kept for it.
    @Test func aStoredMessageThatDoesNotComeIsFound() throws {
        var scene = Scene()
        scene.phones[Self.sleepy] = Device()
        try scene.phones[Self.sleepy]?.push(
            body: Scene.event(1).payload(recordMillis: 0), priority: 10, nowMillis: 101_000)
        let audit = try scene.audit()
        #expect(audit.channelCounts.listenersEquivalent == 1)
        #expect(audit.faults.count == 1 && audit.faults[0].hasPrefix("a phone that listens to AAAA: content-state is"))
    }

    /// The judge finds a worker that broadcasts on a channel with storage as if the channel kept nothing.
    @Test func aWrongPolicyIsFound() throws {
        var scene = Scene()
        scene.entries = Array(scene.entries[..<3])
        scene.publications = []
        scene.outcomes = Array(repeating: ["delivered"], count: 20)
        scene.reasons = Array(repeating: nil, count: 20)
        for number in 0..<20 {
            scene.publications.append(Publication(Self.channel, Scene.event(number)))
            scene.entries.append(Scene.broadcast(number, until: 0))
        }
        #expect(
            try scene.audit().faults == ["channel AAAA: stores, and none of 20 broadcasts was to be kept"])
    }

    @Test func anEventThatWasNotBroadcastIsFound() throws {
        var scene = Scene()
        scene.entries.remove(at: 5)
        let audit = try scene.audit()
        #expect(
            audit.faults.count == 1 && audit.faults[0].hasPrefix("channel AAAA: a phone that was always there: content")
        )
    }

    @Test func broadcastsTooCloseAreFound() throws {
        var scene = Scene()
        scene.entries[3] = .broadcast(
            atMillis: 101_500, channel: Self.channel, priority: 10, expirationSeconds: 3_600,
            body: Scene.event(1).payload(recordMillis: 0))
        #expect(
            try scene.audit().faults == ["channel AAAA: two broadcasts are 500 ms apart, the second at 102000"])
    }

    /// Cases: outcomes of the last event and their reason, whether the event was broadcast, and whether the channel is
    /// deleted. The last number counts the faults that the audit must find.
    private static let ends: [([String], reason: String?, isBroadcast: Bool, isDeleted: Bool, faultCount: Int)] = [
        (["rejected"], "ChannelNotRegistered", false, true, 0), (["rejected"], "BadChannelId", false, true, 0),
        // The answer to the first owner was lost, or the owner did not know whether phones got the event.
        (["rejected"], "ChannelNotRegistered", true, true, 0), (["unknown"], nil, true, true, 0),
        (["delivered", "rejected"], "ChannelNotRegistered", true, true, 0),
        (["rejected"], "PayloadTooLarge", false, true, 1), (["expired"], nil, false, true, 1),
        // An event that was delivered has to be shown.
        (["delivered"], nil, false, true, 1),
        // The channel exists, so the outcome is wrong, and the phones lack the event.
        (["rejected"], "ChannelNotRegistered", false, false, 2), (["unknown"], nil, true, false, 1),
        (["delivered", "rejected"], "ChannelNotRegistered", true, false, 2),
    ]

    @Test(arguments: Self.ends)
    func rejectionsAreForAChannelThatHasGone(
        outcomes: [String], reason: String?, isBroadcast: Bool, isDeleted: Bool, faultCount: Int
    ) throws {
        var scene = Scene()
        (scene.outcomes[2], scene.reasons[2]) = (outcomes, reason)
        if !isBroadcast { scene.entries.remove(at: 5) }
        if isDeleted { scene.deleted = [Self.channel] }
        let audit = try scene.audit()
        #expect(audit.faults.count == faultCount, "\(audit.faults)")
        #expect(audit.channelCounts.rejected == (outcomes.contains("rejected") ? 1 : 0))
    }

    /// A channel that is kept for an audience is judged with the audience's members.
    @Test func channelsOfAudiencesAreLeftOut() throws {
        var scene = Scene()
        scene.entries.append(.channel(atMillis: 200_000, id: "BBBB", app: "com.example.pizza", storage: .none))
        scene.entries.append(.listening(token: "0c", channel: "BBBB"))
        scene.entries.append(
            .broadcast(
                atMillis: 201_000, channel: "BBBB", priority: 10, expirationSeconds: 0,
                body: Scene.event(9).payload(recordMillis: 0)))
        #expect(try !scene.audit().faults.isEmpty, "nobody has published that for a channel")
        scene.published = [Self.channel]
        let audit = try scene.audit()
        #expect(audit.faults.isEmpty, "\(audit.faults)")
        #expect(audit.channelCounts.channels == 1 && audit.channelCounts.listenersChecked == 2)
    }
}
