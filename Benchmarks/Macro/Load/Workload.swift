import KafkaLog
import PushModel

/// The records the benchmark writes: activity `i` has a key, a token and any number of updates.
enum Workload {
    static let topic = "liveactivity.events"
    /// Bytes of one update in a partition of the broker, by generous estimate: key, value and Kafka's own. An outcome has no more.
    static let updateByteCount = 350
    /// Bytes of a registration, and of the state record that an update or a registration causes.
    static let registrationByteCount = 200
    static let stateByteCount = 300
    /// Filled no further than this, a partition stays far from what the embedded broker can hold.
    static let partitionByteCountMax = 3_900_000

    /// How long an activity's id and token are.
    enum Identity {
        /// 13 bytes and 32.
        case short
        /// A UUID's 36 bytes, and the 80 that Apple's tokens of Live Activities have.
        case long
    }

    /// Partitions needed so that nothing nears the broker's bound; a power of two, at least 64.
    static func partitionCount(activities: Int, updates: Int, identity: Identity = .short) -> Int {
        // Registrations and states have a token of 48 bytes more in hex, everything a key of 23 more.
        let more = identity == .short ? 0 : 128
        let events = activities * (self.registrationByteCount + more) + updates * (self.updateByteCount + more)
        let states = (activities + updates) * (self.stateByteCount + more)
        var count = 64
        while max(events, states) > count * self.partitionByteCountMax { count *= 2 }
        return count
    }

    static func appendKey(_ activity: Int, to bytes: inout [UInt8], identity: Identity = .short) {
        guard identity == .short else { return self.appendUUID(UInt64(activity), to: &bytes) }
        bytes.append(contentsOf: "order-".utf8)
        var scale = 1_000_000
        while scale > 0 {
            bytes.append(0x30 + UInt8(activity / scale % 10))
            scale /= 10
        }
    }

    private static func appendUUID(_ number: UInt64, to bytes: inout [UInt8]) {
        var digits: [UInt8] = []
        SampleRequest.appendToken(number, to: &digits)
        // The first 16 digits are mixed, the last 16 are the number's own.
        for (index, digit) in (digits[..<16] + digits[48...]).enumerated() {
            if [8, 12, 16, 20].contains(index) { bytes.append(UInt8(ascii: "-")) }
            bytes.append(digit)
        }
    }

    static func appendRegistration(_ activity: Int, to bytes: inout [UInt8], identity: Identity = .short) {
        bytes.append(contentsOf: #"{"event":"register","token":""#.utf8)
        SampleRequest.appendToken(UInt64(activity), to: &bytes)
        if identity == .long {
            // 64 digits so far; 160 are 80 bytes.
            SampleRequest.appendToken(UInt64(activity) &+ 1, to: &bytes)
            SampleRequest.appendToken(UInt64(activity) &+ 2, to: &bytes)
            bytes.removeLast(32)
        }
        bytes.append(contentsOf: #""}"#.utf8)
    }

    /// An update whose payload is of the size of `SampleRequest.body`, give or take a few bytes.
    /// - Parameter channel: whom it is broadcast on; `nil`: it goes to the activity that the key names.
    static func appendUpdate(
        _ number: Int, to bytes: inout [UInt8], priority: StaticString = "10", channel: [UInt8]? = nil
    ) {
        bytes.append(contentsOf: #"{"event":"update","priority":"#.utf8)
        priority.withUTF8Buffer { bytes.append(contentsOf: $0) }
        if let channel {
            bytes.append(contentsOf: #","to":{"channel":""#.utf8)
            bytes += channel
            bytes.append(contentsOf: #""}"#.utf8)
        }
        bytes.append(contentsOf: #","content-state":{"driverName":"Anne","estimatedDeliveryTime":1659416400,"#.utf8)
        bytes.append(contentsOf: #""stage":"baking","progress":0.425,"stops":[1,2,3],"note":"number "#.utf8)
        bytes.append(contentsOf: String(number).utf8)
        bytes.append(contentsOf: #"","courier":{"id":"c-1042","vehicle":"bicycle","eta":"12:40"}}}"#.utf8)
    }
}

/// Writes the workload's records as a backlog lies in Kafka: in batches of the size that producers make.
final class Prefiller {
    /// About 16 KB of updates, the default of Java's producers (`batch.size`). With the 10,000 of librdkafka's default a fetch would
    /// answer with a hundred megabytes at once, a partition after the other, as no broker that serves living producers does.
    static let batchRecordCount = 64
    /// Long enough for nearly every batch to be full.
    static let lingerMillis = 300

    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let partitionCount: Int32
    private var key: [UInt8] = []
    private var value: [UInt8] = []
    private var failedCount = 0
    private let identity: Workload.Identity

    /// - Parameter lingerMillis: how long a batch that is not full waits.
    init(
        _ broker: Broker, partitionCount: Int, lingerMillis: Int = Prefiller.lingerMillis,
        identity: Workload.Identity = .short
    ) throws {
        self.identity = identity
        let settings = KafkaSettings(bootstrap: broker.bootstrap).appending("linger.ms", "\(lingerMillis)")
            .appending("batch.num.messages", "\(Self.batchRecordCount)")
            .appending("queue.buffering.max.messages", "1000000").appending("queue.buffering.max.kbytes", "1048576")
        self.producer = try KafkaProducer(
            ProducerConfiguration(settings: settings, log: { _ in }), onDeliveries: {}, onError: { _ in })
        self.topic = try self.producer.topic(broker.topic(Workload.topic))
        self.partitionCount = Int32(partitionCount)
    }

    /// Produces `count` records and waits until Kafka has them.
    /// - Parameter fill: given the number of the record; says whose it is and appends its value.
    func produce(_ count: Int, _ fill: (_ number: Int, _ value: inout [UInt8]) -> Int) throws {
        let identity = self.identity
        try self.write(count) { number, key, value in
            Workload.appendKey(fill(number, &value), to: &key, identity: identity)
        }
    }

    /// One update for each of these channels.
    func broadcast(_ channels: [[UInt8]], round: Int) throws {
        try self.write(channels.count) { number, key, value in
            key += channels[number]
            Workload.appendUpdate(round, to: &value, channel: channels[number])
        }
    }

    /// - Parameter fill: given the number of the record; appends its key and value.
    func write(
        _ count: Int, _ fill: (_ number: Int, _ key: inout [UInt8], _ value: inout [UInt8]) -> Void
    ) throws {
        for number in 0..<count {
            self.value.removeAll(keepingCapacity: true)
            self.key.removeAll(keepingCapacity: true)
            fill(number, &self.key, &self.value)
            let partition = Murmur2.partition(key: self.key.span, count: self.partitionCount)
            queueing: while true {
                let result = self.producer.produce(
                    self.topic, partition: partition, key: self.key.span, value: self.value.span, opaque: 0)
                switch result {
                case .queued: break queueing
                case .queueFull:
                    self.drain()
                    Clock.sleep(millis: 1)
                case .failed(let error): throw BenchmarkFailure("a record cannot be produced: \(error)")
                }
            }
            if number % 10_000 == 0 { self.drain() }
        }
        var failedCount = 0
        let left = self.producer.flush(within: .seconds(60)) { if !$0.isSuccess { failedCount += 1 } }
        self.failedCount += failedCount
        guard left == 0, self.failedCount == 0 else {
            throw BenchmarkFailure("\(left + self.failedCount) of \(count) records did not reach Kafka")
        }
    }

    func register(_ activities: Range<Int>) throws {
        let identity = self.identity
        try self.produce(activities.count) { number, value in
            Workload.appendRegistration(activities.lowerBound + number, to: &value, identity: identity)
            return activities.lowerBound + number
        }
    }

    /// One update for each of these activities.
    func update(_ activities: Range<Int>, round: Int) throws {
        try self.produce(activities.count) { number, value in
            Workload.appendUpdate(round, to: &value)
            return activities.lowerBound + number
        }
    }

    private func drain() {
        var failedCount = 0
        while self.producer.drainDeliveries({ if !$0.isSuccess { failedCount += 1 } }) > 0 {}
        self.failedCount += failedCount
    }
}
