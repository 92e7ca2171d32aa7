import APNSProtocol
import PushModel

/// The faults in force, in order. Decides which one, if any, applies to a request.
struct FaultList {
    /// Maximum number of faults in the list. A further fault replaces the oldest one.
    static let faultsMax = 1_000

    struct Entry {
        var id: FaultID
        var fault: Fault
        var prefix: [UInt8]
        var channelPrefix: [UInt8]
        var prepared: PreparedAnswer?
        /// Number of requests that matched.
        var matched = 0
        var fired = 0
    }

    private(set) var entries: [Entry] = []
    /// Number of times that used-up and cleared faults fired. When there are `faultsMax` entries, the next entry
    /// replaces all of them.
    private var finished: [FaultID: Int] = [:]
    private var nextID = 1

    var isEmpty: Bool { self.entries.isEmpty }

    mutating func add(_ fault: Fault) -> FaultID {
        let id = FaultID(rawValue: self.nextID)
        self.nextID += 1
        if self.entries.count == Self.faultsMax { self.retire(0) }
        self.entries.append(
            Entry(
                id: id, fault: fault, prefix: Array(fault.tokenPrefix.lowercased().utf8),
                channelPrefix: Array(fault.channelPrefix.utf8),
                prepared: Self.prepare(fault.effect)))
        return id
    }

    mutating func removeAll() {
        while !self.entries.isEmpty { self.retire(self.entries.count - 1) }
    }

    mutating func remove(_ id: FaultID) -> Bool {
        guard let index = self.entries.firstIndex(where: { $0.id == id }) else { return false }
        self.retire(index)
        return true
    }

    func fired(_ id: FaultID) -> Int? { self.entries.first { $0.id == id }?.fired ?? self.finished[id] }

    /// The parts of a request that a fault can select.
    struct Target {
        /// The request's kind; `nil` if APNs does not know it.
        var kind: RequestKind?
        var connection: Int
    }

    /// Returns the effect of the fault that applies to this request. Draws from `random` only for faults with a rate
    /// below 1.
    /// - Parameters:
    ///   - tokenText: the token as in the path; empty if the request has none.
    ///   - channelID: the value of `apns-channel-id`; empty if the request has none.
    mutating func hit(
        _ target: Target, tokenText: Span<UInt8>, channelID: Span<UInt8>, random: inout SplitMix64
    ) -> (effect: Fault.Effect, prepared: PreparedAnswer?)? {
        for index in self.entries.indices {
            let entry = self.entries[index]
            if let only = entry.fault.connection, only != target.connection { continue }
            if let only = entry.fault.kind, only != target.kind { continue }
            guard Self.begins(tokenText, with: entry.prefix), Self.begins(channelID, with: entry.channelPrefix) else {
                continue
            }
            self.entries[index].matched += 1
            if entry.matched < entry.fault.skip { continue }
            if entry.fault.rate < 1, random.unit() >= entry.fault.rate { continue }
            self.entries[index].fired += 1
            if let count = entry.fault.count, entry.fired + 1 >= count { self.retire(index) }
            return (entry.fault.effect, entry.prepared)
        }
        return nil
    }

    private static func begins(_ text: Span<UInt8>, with prefix: [UInt8]) -> Bool {
        prefix.count <= text.count && text.extracting(0..<prefix.count).equals(prefix)
    }

    private mutating func retire(_ index: Int) {
        let entry = self.entries.remove(at: index)
        if self.finished.count >= Self.faultsMax { self.finished.removeAll() }
        self.finished[entry.id] = entry.fired
    }

    private static func prepare(_ effect: Fault.Effect) -> PreparedAnswer? {
        switch effect {
        case .answer(let status, let reason, let timestampMillis, let retryAfterSeconds, let date):
            var body = ""
            if !reason.isEmpty {
                body = "{\"reason\":\"\(reason)\"" + (timestampMillis.map { ",\"timestamp\":\($0)" } ?? "") + "}"
            }
            return PreparedAnswer(
                status: status, name: reason.isEmpty ? String(status) : reason, body: Array(body.utf8),
                retryAfterSeconds: retryAfterSeconds, date: date)
        case .answerRaw(let status, let body):
            return PreparedAnswer(status: status, name: String(status), body: body, retryAfterSeconds: nil)
        case .odd(let odd) where !odd.needsFrames:
            return PreparedAnswer(
                status: odd.status, name: String(odd.status), body: odd.body, retryAfterSeconds: nil,
                sendsMessageID: odd.sendsMessageID)
        case .stall, .reset, .cut, .goAway, .odd, .then, .twice, .channelID:
            return nil
        }
    }
}
