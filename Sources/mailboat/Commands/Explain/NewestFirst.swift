/// Records of one key that lie on several partitions, in one order.
enum NewestFirst {
    /// The newest first. Within a stream the log has the order, whatever times the records were given; between streams the times decide.
    /// - Parameters:
    ///   - streams: each the newest first.
    ///   - millis: when a record was written.
    static func merge<Record>(_ streams: [[Record]], writtenMillis millis: (Record) -> Int64) -> [Record] {
        var rests = streams.map { $0[...] }
        var merged: [Record] = []
        while true {
            let heads = rests.indices.compactMap { index in
                rests[index].first.map { (index: index, millis: millis($0)) }
            }
            guard let next = heads.max(by: { $0.millis < $1.millis }), let record = rests[next.index].popFirst() else {
                return merged
            }
            merged.append(record)
        }
    }
}
