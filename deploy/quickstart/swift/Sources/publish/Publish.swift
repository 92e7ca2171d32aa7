// Publishes an update and waits for what becomes of it.
//
//   apt-get install librdkafka-dev && swift run publish localhost:9092 order-7 0a1b2c3d

import CRDKafka
import Foundation

struct Failure: Error, CustomStringConvertible { var description: String }

/// Where a record lies.
struct Place {
    var partition: Int32
    var offset: Int64
}

/// A handle of librdkafka with these settings.
/// - Parameter place: is told where the last record that was published lies.
func client(
    _ type: rd_kafka_type_t, _ settings: [String: String], place: UnsafeMutablePointer<Place>? = nil
) throws -> OpaquePointer {
    let configuration = rd_kafka_conf_new()
    var reason = [CChar](repeating: 0, count: 512)
    func text() -> String { String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    for (name, value) in settings {
        guard rd_kafka_conf_set(configuration, name, value, &reason, reason.count) == RD_KAFKA_CONF_OK else {
            throw Failure(description: text())
        }
    }
    if type == RD_KAFKA_PRODUCER {
        rd_kafka_conf_set_opaque(configuration, place)
        rd_kafka_conf_set_dr_msg_cb(configuration) { _, record, place in
            guard let record = record?.pointee else { return }
            guard record.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
                fatalError("not published: \(String(cString: rd_kafka_err2str(record.err)))")
            }
            place?.assumingMemoryBound(to: Place.self).pointee = Place(
                partition: record.partition, offset: record.offset)
        }
    }
    guard let client = rd_kafka_new(type, configuration, &reason, reason.count) else {
        throw Failure(description: text())
    }
    return client
}

func randomHex(_ byteCount: Int) -> String {
    (0..<byteCount).map { _ in String(format: "%02x", UInt8.random(in: .min ... .max)) }.joined()
}

@main struct Publish {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { throw Failure(description: "expected: BOOTSTRAP ACTIVITY TOKEN") }
        let (bootstrap, activity, token) = (arguments[1], arguments[2], arguments[3])
        let eventID = UUID().uuidString
        let event = """
            {"event": "update", "id": "\(eventID)", "to": {"token": "\(token)"},
             "content-state": {"driverName": "Anne", "minutes": 12}, "priority": 10}
            """

        // murmur2 of the key, as Java's clients. librdkafka's own default puts records on other partitions.
        let place = UnsafeMutablePointer<Place>.allocate(capacity: 1)
        defer { place.deallocate() }
        place.initialize(to: Place(partition: -1, offset: -1))
        let producer = try client(
            RD_KAFKA_PRODUCER,
            ["bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": "true"],
            place: place)
        let headers = rd_kafka_headers_new(1)
        rd_kafka_header_add(headers, "traceparent", -1, "00-\(randomHex(16))-\(randomHex(8))-01", -1)
        let error = publish(producer, "liveactivity.events", activity, event, headers)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, rd_kafka_flush(producer, 30_000) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw Failure(description: "not published: \(String(cString: rd_kafka_err2str(error)))")
        }
        rd_kafka_destroy(producer)

        // A service has one consumer that runs all the time, with a group id that stays.
        let consumer = try client(
            RD_KAFKA_CONSUMER,
            ["bootstrap.servers": bootstrap, "group.id": "quickstart-\(eventID)", "auto.offset.reset": "earliest"])
        rd_kafka_poll_set_consumer(consumer)
        let topics = rd_kafka_topic_partition_list_new(1)
        rd_kafka_topic_partition_list_add(topics, "liveactivity.outcomes", -1)
        rd_kafka_subscribe(consumer, topics)
        rd_kafka_topic_partition_list_destroy(topics)
        defer {
            rd_kafka_consumer_close(consumer)
            rd_kafka_destroy(consumer)
        }
        let deadline = Date(timeIntervalSinceNow: 60)
        while Date() < deadline {
            guard let record = rd_kafka_consumer_poll(consumer, 1_000) else { continue }
            defer { rd_kafka_message_destroy(record) }
            guard record.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR, let payload = record.pointee.payload else {
                continue
            }
            let value = Data(bytes: payload, count: record.pointee.len)
            let outcome = try JSONSerialization.jsonObject(with: value) as? [String: Any]
            // Where the event lies is its identity: an event that could not be read has an outcome without its id.
            if outcome?["topic"] as? String == "liveactivity.events",
                outcome?["partition"] as? Int32 == place.pointee.partition,
                outcome?["offset"] as? Int64 == place.pointee.offset
            {
                print(String(decoding: value, as: UTF8.self))
                return
            }
        }
        throw Failure(description: "no outcome within 60 s")
    }
}
