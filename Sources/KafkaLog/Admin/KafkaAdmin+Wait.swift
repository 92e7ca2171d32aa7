extension KafkaAdmin {
    /// Waits until the cluster's metadata shows topics that were created. Blocks, at most about `limit`.
    /// - Throws: `timedOut` when the limit is over, with the names of topics that are still missing; or another error.
    public func waitUntilShown(_ topics: [NewTopic], within limit: Duration) throws(KafkaError) {
        let missing = try self.outwait(TopicWait(for: topics, limitMillis: Int64(limit.wholeMillis)), within: limit)
        guard missing.isEmpty else {
            throw KafkaError(code: .timedOut, text: "the cluster does not show \(missing.joined(separator: ", "))")
        }
    }

    /// Waits until the cluster's metadata no longer shows topics that were deleted. Blocks, at most about `limit`.
    /// - Throws: `timedOut` when the limit is over, with the names of topics that are still shown; or another error.
    public func waitUntilGone(_ names: [String], within limit: Duration) throws(KafkaError) {
        let left = try self.outwait(TopicWait(untilGone: names, limitMillis: Int64(limit.wholeMillis)), within: limit)
        guard left.isEmpty else {
            throw KafkaError(code: .timedOut, text: "the cluster still shows \(left.joined(separator: ", "))")
        }
    }

    /// Asks for the cluster's metadata again and again until `wait` is over. Kafka does not announce that the metadata
    /// has changed.
    /// - Returns: the topics still waited for when the time was over.
    private func outwait(_ wait: consuming TopicWait, within limit: Duration) throws(KafkaError) -> [String] {
        let beganAt = ContinuousClock.now
        while true {
            let found = try self.describeTopics(within: limit)
            switch wait.looked(found, elapsedMillis: Int64((ContinuousClock.now - beganAt) / .milliseconds(1))) {
            case .done: return []
            case .lookAgain(let afterMillis, _): Sleeping.sleep(.milliseconds(afterMillis))
            case .overdue(let names): return names
            }
        }
    }
}
