import CommandSupport
import DeviceModel
import KafkaLog
import Upstream

/// Holds channels and the phones that listen to them against what was published.
extension ChaosAudit {
    /// What is known of channels besides Kafka's log.
    struct ChannelScene {
        /// What APNs took, and who listened.
        var listeners = ChaosListeners()
        var rules = BroadcastRules(distanceMillis: 0, resumedMillis: [])
        /// Those that events were published for; all others are kept for audiences. `nil`: there are no others.
        var published: Set<String>?
        /// Ids of channels that were deleted.
        var deleted: Set<String> = []
    }

    /// What became of channels.
    struct ChannelCounts: Equatable {
        var channels = 0
        var broadcasts = 0
        /// Broadcasts for channels that store, but not to be kept: nobody knew yet.
        var broadcastsUnkept = 0
        /// Events that ended because their channel had gone.
        var rejected = 0
        var listenersChecked = 0
        var listenersEquivalent = 0
        /// Checked phones that were away, and how often.
        var listenersAway = 0
        var absences = 0
        /// The least time between two broadcasts on one channel that has no excuse, milliseconds.
        var closestMillis: Int64?
    }

    /// What a channel would have shown, event by event, had each been broadcast alone and in order.
    struct ChannelExpectation {
        /// After no event, after the first, and so on.
        private(set) var states = [ReferenceDevice()]
        /// Index of the event after the last that was delivered.
        private var deliveredIndex = 0

        /// The record's event, and what its outcomes say.
        mutating func take(_ event: StoryEvent, recordMillis: Int64, outcomes: [String]) throws {
            var next = self.states[self.states.count - 1]
            try next.take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
            self.states.append(next)
            if outcomes.contains("delivered") { self.deliveredIndex = self.states.count - 1 }
        }

        /// The first thing that a phone shows otherwise, if it listened and was there all the time.
        /// - Parameter isDeleted: the channel has gone: what came then was not broadcast, or was just before it went, and nobody can say.
        func firstDifference(of phone: Device, isDeleted: Bool) -> String? {
            let differences = self.states[(isDeleted ? self.deliveredIndex : self.states.count - 1)...].map {
                phone.firstDifference(from: $0.device)
            }
            return differences.contains(nil) ? nil : differences[0]
        }
    }

    /// The reasons for which APNs refuses a channel that has gone, and what the worker says of events that it no longer tried.
    static let goneReasons: Set<String> = [
        "ChannelNotRegistered", "BadChannelId", "APNs has said that the channel does not exist",
    ]

    /// Each channel's broadcasts are what its events say, and as they may be; each phone that listens shows what its channel's policy promises.
    /// - Parameter phone: the phone behind a token; `nil`: nothing is known of it.
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
    /// Lines of the table.
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
