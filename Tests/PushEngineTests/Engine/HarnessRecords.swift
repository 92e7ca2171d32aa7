import APNSProtocol
import Foundation
import PushEngine
import PushModel
import Testing

/// A push as a test reads it.
struct Push {
    let id: PushID
    let kind: RequestKind
    let app: Int
    let priority: Int
    let token: String
    let expirationSeconds: Int64
    let byteCount: Int
    let aps: [String: Any]
    let apnsID: [UInt64]
    let body: String

    init(_ request: PushRequest) {
        self.id = request.id
        self.kind = request.kind
        self.app = Int(request.app)
        self.priority = Int(request.priority.rawValue)
        self.token = String(decoding: request.target, as: UTF8.self)
        self.expirationSeconds = request.expirationSeconds
        self.byteCount = request.body.count
        self.aps = request.body.isEmpty ? [:] : HarnessJSON.object(request.body)["aps"] as? [String: Any] ?? [:]
        self.apnsID = [request.apnsID.0, request.apnsID.1]
        self.body = String(decoding: request.body, as: UTF8.self)
    }

    var event: String { self.aps["event"] as? String ?? "?" }
    /// Stamp on the wire, in seconds after the harness's start.
    var stamp: Int64 { ((self.aps["timestamp"] as? NSNumber)?.int64Value ?? -1) - EngineHarness.seconds(0) }
    var n: Int? { (self.aps["content-state"] as? [String: Any])?["n"] as? Int }
    var alert: String? { (self.aps["alert"] as? [String: Any])?["title"] as? String }
    /// Stale date, in seconds after the harness's start.
    var staleDate: Int64? { (self.aps["stale-date"] as? NSNumber).map { $0.int64Value - EngineHarness.seconds(0) } }
    var relevanceScore: Double? { (self.aps["relevance-score"] as? NSNumber)?.doubleValue }
}

/// A record that the engine wrote.
struct WrittenRecord {
    let topic: EngineRecord.Topic
    let partition: Int32
    var key: [UInt8]
    let hasKey: Bool
    let value: [UInt8]
    var isNull: Bool
    var headers: [String: String]
    let timestampMillis: Int64
    let acknowledgement: UInt64

    static func all(of batch: RecordBatch) -> [WrittenRecord] {
        batch.records.map { record in
            var headers: [String: String] = [:]
            for header in batch.headers[record.headers] {
                headers[String(decoding: batch.bytes[header.name], as: UTF8.self)] =
                    String(decoding: batch.bytes[header.value], as: UTF8.self)
            }
            return WrittenRecord(
                topic: record.topic, partition: record.partition, key: Array(batch.bytes[record.key]),
                hasKey: record.hasKey,
                value: Array(batch.bytes[record.value]), isNull: record.isTombstone, headers: headers,
                timestampMillis: record.timestampMillis, acknowledgement: record.acknowledgement)
        }
    }

    var keyText: String { String(decoding: self.key, as: UTF8.self) }
    var valueText: String { String(decoding: self.value, as: UTF8.self) }
}

/// An outcome as a reader of the topic `outcomes` sees it.
struct OutcomeRecord {
    let fields: [String: Any]
    let key: String
    let hasKey: Bool

    init(_ record: WrittenRecord) {
        self.fields = HarnessJSON.object(record.value)
        self.key = record.keyText
        self.hasKey = record.hasKey
    }

    var outcome: String { self.fields["outcome"] as? String ?? "?" }
    var topic: String { self.fields["topic"] as? String ?? "?" }
    var offset: Int64 { self.number("offset") ?? -1 }
    var reason: String? { self.fields["reason"] as? String }
    var merged: Int64? { self.number("merged") }
    var priority: Int64? { self.number("priority") }
    var status: Int64? { self.number("status") }
    /// Offset of the event that replaced this one.
    var into: Int64? { ((self.fields["into"] as? [String: Any])?["offset"] as? NSNumber)?.int64Value }
    var kept: [String] { self.fields["kept"] as? [String] ?? [] }
    func number(_ name: String) -> Int64? { (self.fields[name] as? NSNumber)?.int64Value }
}

enum HarnessJSON {
    static func object(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) -> [String: Any] {
        guard let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else {
            Issue.record("not a JSON object: \(String(decoding: bytes, as: UTF8.self))", sourceLocation: sourceLocation)
            return [:]
        }
        return object
    }
}
