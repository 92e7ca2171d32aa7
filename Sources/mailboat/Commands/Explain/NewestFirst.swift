/// Brings records of one key from several partitions into one order.
enum NewestFirst {
    /// Merges streams, the newest record first. Records of one stream keep the log's order, even if their times say
    /// otherwise. Between streams the times decide.
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
