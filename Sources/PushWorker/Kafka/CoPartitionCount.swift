import KafkaLog

/// The number of partitions that `state` was written for, even if topics have more by now. Pure.
///
/// The partition of a key follows from this count, so the count never changes after `state` was first written. Markers
/// in `state` contain the count. If the last partition of `state` was ever written to, the count is the present number
/// of partitions, and no marker has to be read. Otherwise that partition was added later, or the first workers ended
/// before they wrote to it. In both cases, a marker in another partition is read.
enum CoPartitionCount {
    /// What the log ends of `state` show.
    enum Sight: Equatable {
        /// The last partition was written to, so `state` was written for all its partitions.
        case all
        /// No partition was ever written to, so no marker contains a count.
        case nothing
        /// A marker contains the count. The caller looks for a marker in these partitions, the shortest log first.
        case read([Int32])
    }

    /// Concludes from the logs whether `state` was written for all its partitions, or where to look for a marker.
    /// - Parameter logs: the log of each partition of `state`, except partitions that cannot be asked about.
    static func look(_ logs: [Int32: (low: Int64, end: Int64)], partitionCount: Int32) -> Sight {
        if let last = logs[partitionCount - 1], last.end > 0 { return .all }
        let written = logs.filter { $0.value.end > 0 }
        guard !written.isEmpty else { return .nothing }
        return .read(
            written.sorted { ($0.value.end - $0.value.low, $0.key) < ($1.value.end - $1.value.low, $1.key) }.map(\.key))
    }

    /// A co-partitioned topic and its number of partitions.
    struct TopicCount: Equatable {
        var name: String
        var count: Int
    }

    enum Verdict: Equatable {
        /// All topics have at least this number of partitions, which `state` was written for. `remarks` has one line
        /// for each topic that has more.
        case agreed(Int32, remarks: [String])
        case fault(String)
    }

    /// Judges whether the topics agree in their number of partitions.
    /// - Parameters:
    ///   - events: the input topics; the group divides the partitions of the first.
    ///   - named: the count in the markers; `nil`: no marker contains one.
    ///   - forwards: whether records of partitions beyond the count are forwarded.
    static func judge(
        events: [TopicCount], routed: TopicCount, state: TopicCount, named: Int32?, forwards: Bool
    ) -> Verdict {
        let all = events + [routed, state]
        let list = all.map { "\($0.name) has \($0.count)" }.joined(separator: ", ")
        let differ =
            "partition counts differ: \(list); input, routed and state topics must have the same, and it cannot be changed once there are records"
        let count = named.map(Int.init) ?? state.count
        guard named != nil || routed.count == state.count else { return .fault(differ) }
        guard count > 0, let number = Int32(exactly: count) else {
            return .fault("the topic \(state.name) has no partitions")
        }
        // A topic with fewer partitions has lost records, and it is not known which.
        guard all.allSatisfy({ $0.count >= count }) else {
            return .fault(named == nil ? differ : "\(state.name) was written for \(count) partitions, and \(list)")
        }
        var remarks: [String] = []
        let driver = events.first?.count ?? count
        for topic in events where topic.count > count {
            let unread = topic.count > driver ? max(driver, count) : topic.count
            var text = "\(topic.name) has \(topic.count) partitions, and \(state.name) was written for \(count): "
            text += forwards ? "records of the others are forwarded" : "records of the others wait"
            if unread < topic.count {
                text +=
                    ", and those of partition \(unread) and beyond are not read, because \(events[0].name) has no such partitions"
            }
            remarks.append(text + "; \(Self.remedy)")
        }
        for topic in [routed, state] where topic.count > count {
            remarks.append(
                "\(topic.name) has \(topic.count) partitions, and \(state.name) was written for \(count): the others are not used"
            )
        }
        return .agreed(number, remarks: remarks)
    }

    /// What to do about an input topic that has grown.
    static let remedy =
        "stop the publishers, let the workers drain, and begin on new topics (Operations, \"A topic has got more partitions\")"
}
