import KafkaLog
import PushModel

/// The records that the benchmark writes. Activity `i` has a key, a token and any number of updates.
enum Workload {
    static let topic = "liveactivity.events"
    /// Estimated bytes of one update in a partition of the broker: key, value and Kafka's own bytes. The estimate is
    /// high. An outcome is not longer.
    static let updateByteCount = 350
    /// Bytes of a registration.
    static let registrationByteCount = 200
    /// Bytes of the state record that an update or a registration causes.
    static let stateByteCount = 300
    /// Maximum number of bytes that are planned for a partition. It is well below the limit of the embedded broker.
    static let partitionByteCountMax = 3_900_000

    /// Length of an activity's id and token.
    enum Identity {
        /// An id of 13 bytes, and a token of 32 bytes.
        case short
        /// A UUID of 36 bytes, and a token of 80 bytes like Apple's tokens for Live Activities.
        case long
    }

    /// Number of partitions at which none comes near the broker's size limit. The number is a power of two, and at
    /// least 64.
    static func partitionCount(activities: Int, updates: Int, identity: Identity = .short) -> Int {
        // Long tokens have 48 bytes more, which are 96 hex digits. Long keys have 23 bytes more.
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
        // The first 16 digits are mixed, and the last 16 are those of the number itself.
        for (index, digit) in (digits[..<16] + digits[48...]).enumerated() {
            if [8, 12, 16, 20].contains(index) { bytes.append(UInt8(ascii: "-")) }
            bytes.append(digit)
        }
    }

    static func appendRegistration(_ activity: Int, to bytes: inout [UInt8], identity: Identity = .short) {
        bytes.append(contentsOf: #"{"event":"register","token":""#.utf8)
        SampleRequest.appendToken(UInt64(activity), to: &bytes)
        if identity == .long {
            // There are 64 digits so far. 160 digits are 80 bytes.
            SampleRequest.appendToken(UInt64(activity) &+ 1, to: &bytes)
            SampleRequest.appendToken(UInt64(activity) &+ 2, to: &bytes)
            bytes.removeLast(32)
        }
        bytes.append(contentsOf: #""}"#.utf8)
    }

    /// Appends an update whose payload has the size of `SampleRequest.body`, give or take a few bytes.
    static func appendUpdate(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(
            contentsOf:
                #"{"event":"update","priority":10,"content-state":{"driverName":"Anne","estimatedDeliveryTime":1659416400,"#
                .utf8)
        bytes.append(contentsOf: #""stage":"baking","progress":0.425,"stops":[1,2,3],"note":"number "#.utf8)
        bytes.append(contentsOf: String(number).utf8)
        bytes.append(contentsOf: #"","courier":{"id":"c-1042","vehicle":"bicycle","eta":"12:40"}}}"#.utf8)
    }
}

/// Writes the workload's records in batches as large as those of usual producers. A backlog in Kafka has such batches.
final class Prefiller {
    /// Number of records in a batch. 64 updates are about 16 KB, the default of Java's producers (`batch.size`). With
    /// librdkafka's default of 10,000, a fetch would return a hundred megabytes at once, partition by partition. No
    /// broker with active producers does that.
    static let batchRecordCount = 64
    /// How long a batch waits for more records. After this time nearly every batch is full.
    static let lingerMillis = 300

    private let producer: KafkaProducer
    private let topic: KafkaTopic
    private let partitionCount: Int32
    private var key: [UInt8] = []
    private var value: [UInt8] = []
    private var failedCount = 0
    private let identity: Workload.Identity

    /// Makes a producer.
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
    /// - Parameter fill: gets the number of the record, appends its value, and returns the activity.
    func produce(_ count: Int, _ fill: (_ number: Int, _ value: inout [UInt8]) -> Int) throws {
        let identity = self.identity
        try self.write(count) { number, key, value in
            Workload.appendKey(fill(number, &value), to: &key, identity: identity)
        }
    }

    /// Writes `count` records and waits until Kafka has them.
    /// - Parameter fill: gets the number of a record, and appends the record's key and value.
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

    /// Publishes one update for each of these activities.
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
