import APNSSimulator
import PushModel

/// When pushes of each version reached APNs.
struct VersionArrivals {
    private struct Arrival {
        var millis: Int64
        var stamp: Int
    }
    private struct Newest {
        var stamp = 0
        var sinceMillis: Int64 = 0
    }

    private let partitionCount: Int32
    private var newest: [Newest]
    private var arrivals: [Arrival] = []
    /// How long before each push its partition had sent a newer version, for pushes where it had.
    private(set) var lateMillis: [Int64] = []

    init(partitionCount: Int) {
        self.partitionCount = Int32(partitionCount)
        self.newest = Array(repeating: Newest(), count: partitionCount)
    }

    var pushCount: Int { self.arrivals.count }
    /// Stamps of the versions, ascending.
    var stamps: [Int] { Set(self.arrivals.map(\.stamp)).sorted() }

    mutating func read(_ path: String) throws {
        var journal = try JournalReader(path: path)
        while let entry = try journal.next() {
            guard case .push(let atMillis, let token, _, _, let body) = entry else { continue }
            guard let stamp = Self.stamp(of: body) else { throw BenchmarkFailure("a push without a timestamp") }
            self.note(atMillis: atMillis, token: Array(token.utf8), stamp: stamp)
        }
    }

    mutating func note(atMillis: Int64, token: [UInt8], stamp: Int) {
        self.arrivals.append(Arrival(millis: atMillis, stamp: stamp))
        let partition = Int(Murmur2.partition(key: token.span, count: self.partitionCount))
        if stamp > self.newest[partition].stamp {
            self.newest[partition] = Newest(stamp: stamp, sinceMillis: atMillis)
        } else if stamp < self.newest[partition].stamp {
            self.lateMillis.append(atMillis - self.newest[partition].sinceMillis)
        }
    }

    /// The number behind the first `"timestamp":`.
    static func stamp(of body: [UInt8]) -> Int? {
        let name = Array("\"timestamp\":".utf8)
        guard body.count > name.count else { return nil }
        for start in 0..<body.count - name.count where body[start..<start + name.count].elementsEqual(name) {
            return Int(
                String(decoding: body[(start + name.count)...].prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
        }
        return nil
    }

    /// Ages of what arrived, by the time since the first event. Versions have the events' order.
    func ages(publishedMillis: [Int64], everyMillis: Int64) -> [(
        seconds: Double, oldestMillis: Double, meanMillis: Double
    )] {
        let numbers = Dictionary(uniqueKeysWithValues: zip(self.stamps, 0...))
        let first = publishedMillis.first ?? 0
        var buckets: [Int64: (oldest: Int64, sum: Int64, count: Int64)] = [:]
        for arrival in self.arrivals {
            guard let number = numbers[arrival.stamp], number < publishedMillis.count else { continue }
            let age = arrival.millis - publishedMillis[number]
            let bucket = (arrival.millis - first) / everyMillis
            let old = buckets[bucket] ?? (0, 0, 0)
            buckets[bucket] = (max(old.oldest, age), old.sum + age, old.count + 1)
        }
        return buckets.keys.sorted().map { bucket in
            let ages = buckets[bucket] ?? (0, 0, 1)
            return (
                Double(bucket * everyMillis) / 1_000, Double(ages.oldest), Double(ages.sum) / Double(ages.count)
            )
        }
    }
}
