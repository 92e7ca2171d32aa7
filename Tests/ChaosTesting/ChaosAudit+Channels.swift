import CommandSupport
import DeviceModel
import KafkaLog
import Upstream

/// Compares channels and the phones that listen to them with what was published.
extension ChaosAudit {
    /// Facts about channels that Kafka's log does not contain.
    struct ChannelScene {
        /// Broadcasts that APNs took, and phones that listened.
        var listeners = ChaosListeners()
        var rules = BroadcastRules(distanceMillis: 0, resumedMillis: [])
        /// Channels that events were published for. All others are kept for audiences. `nil` means that there are no
        /// others.
        var published: Set<String>?
        /// Ids of deleted channels.
        var deleted: Set<String> = []
    }

    /// Counts of channels, broadcasts and phones that listen.
    struct ChannelCounts: Equatable {
        var channels = 0
        var broadcasts = 0
        /// Number of broadcasts that asked APNs to keep nothing although their channel stores messages. The worker did
        /// not know of the storage yet.
        var broadcastsUnkept = 0
        /// Number of channel events with the outcome `rejected`.
        var rejected = 0
        var listenersChecked = 0
        var listenersEquivalent = 0
        /// Number of checked phones that were away.
        var listenersAway = 0
        /// Number of absences of checked phones.
        var absences = 0
        /// Shortest time between two broadcasts in a row on one channel that are not excused, milliseconds.
        var closestMillis: Int64?
    }

    /// What a phone on the channel would show after each event if every event were broadcast alone and in order.
    struct ChannelExpectation {
        /// States in order: before the first event, after the first event, and so on.
        private(set) var states = [ReferenceDevice()]
        /// Index in `states` of the state after the last delivered event.
        private var deliveredIndex = 0

        /// Takes the event of a record, and the outcomes of the record.
        mutating func take(_ event: StoryEvent, recordMillis: Int64, outcomes: [String]) throws {
            var next = self.states[self.states.count - 1]
            try next.take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
            self.states.append(next)
            if outcomes.contains("delivered") { self.deliveredIndex = self.states.count - 1 }
        }

        /// First difference between the phone of an always reachable listener and the first allowed state. `nil` means
        /// that the phone is in one of the allowed states.
        /// - Parameter isDeleted: whether the channel was deleted. Then its last events need not have been broadcast.
        func firstDifference(of phone: Device, isDeleted: Bool) -> String? {
            let differences = self.states[(isDeleted ? self.deliveredIndex : self.states.count - 1)...].map {
                phone.firstDifference(from: $0.device)
            }
            return differences.contains(nil) ? nil : differences[0]
        }
    }

    /// APNs' reasons for refusing a deleted channel, and the worker's own reason for events that it did not try to
    /// send.
    static let goneReasons: Set<String> = [
        "ChannelNotRegistered", "BadChannelId", "APNs has said that the channel does not exist",
    ]

    /// Judges that the broadcasts of each channel agree with its events and keep the rules. Each listening phone has to
    /// show what its channel's policy promises.
    /// - Parameter phone: the phone behind a token, or `nil` when nothing is known of it.
    mutating func judgeChannels(
        _ scene: ChannelScene, _ records: [OwnedRecord], phone: (_ token: String) -> Device?
    ) throws {
        var expectations: [String: ChannelExpectation] = [:]
        for record in records {
            guard let publication = self.publication(of: record), let event = publication.event,
                event.channel != nil
            else { continue }
            let names = self.outcomes(of: record).map(\.outcome)
            if names.contains("rejected") { self.channelCounts.rejected += 1 }
            try expectations[publication.activity, default: ChannelExpectation()].take(
                event, recordMillis: record.timestampMillis, outcomes: names)
        }
        let channels = scene.listeners.channels.filter { scene.published?.contains($0.key) ?? true }
        self.channelCounts.channels = channels.count
        self.channelCounts.broadcasts = channels.values.reduce(0) { $0 + $1.broadcasts.count }
        for (id, channel) in channels.sorted(by: { $0.key < $1.key }) {
            for fault in scene.rules.faults(channel.broadcasts, storage: channel.history.storage) {
                self.fault("channel \(id): \(fault)")
            }
            let expectation = expectations[id] ?? ChannelExpectation()
            if let difference = expectation.firstDifference(
                of: channel.witness, isDeleted: scene.deleted.contains(id))
            {
                self.fault("channel \(id): a phone that was always there: \(difference)")
            }
            if channel.history.storage == .mostRecent {
                self.channelCounts.broadcastsUnkept += channel.broadcasts.count { $0.expirationSeconds == 0 }
            }
            if let closest = scene.rules.closestMillis(channel.broadcasts) {
                self.channelCounts.closestMillis = min(closest, self.channelCounts.closestMillis ?? .max)
            }
        }
        self.judgeListeners(scene, phone: phone)
    }

    private mutating func judgeListeners(_ scene: ChannelScene, phone: (_ token: String) -> Device?) {
        for (token, listener) in scene.listeners.listeners.sorted(by: { $0.key < $1.key }) {
            guard let channel = scene.listeners.channels[listener.channel],
                scene.published?.contains(listener.channel) ?? true
            else { continue }
            self.channelCounts.listenersChecked += 1
            if !listener.history.away.isEmpty { self.channelCounts.listenersAway += 1 }
            self.channelCounts.absences += listener.history.away.count
            if let fault = channel.history.firstFault(
                of: phone(token) ?? Device(), listener: listener.history, rules: .phone)
            {
                self.fault("a phone that listens to \(listener.channel): \(fault)")
            } else {
                self.channelCounts.listenersEquivalent += 1
            }
        }
    }
}

extension ChaosAudit.ChannelCounts {
    /// Lines for the result table of a run.
    var lines: [String] {
        let grouped = NumberText.grouped
        let closest = self.closestMillis.map { ", no two closer than \(grouped(Int($0))) ms" } ?? ""
        return [
            "broadcasts          \(grouped(self.broadcastsUnkept)) on channels that store were not to be kept (nobody could say yet that they store)"
                + closest,
            "channel deleted     \(grouped(self.rejected)) events rejected",
            "phones that listen  \(grouped(self.listenersAway)) of them were away, \(grouped(self.absences)) times",
        ]
    }
}
