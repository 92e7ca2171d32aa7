import Foundation
import PushModel

/// What a phone or APNs may find strange about a payload. The phone itself reports nothing.
enum PayloadRemarks {
    /// Apple's limit for a push to a phone, bytes.
    static let byteCountMax = 4_096

    /// Remarks to follow the words “the payload”, such as “has 5000 bytes: APNs takes 4096”. Empty: nothing is strange.
    static func find(in payload: [UInt8], pushType: String, nowSeconds: Int64) -> [String] {
        var remarks: [String] = []
        if payload.count > Self.byteCountMax {
            remarks.append("has \(payload.count) bytes: APNs takes \(Self.byteCountMax)")
        }
        guard !ByteOrderMark.stands(in: payload.span, at: 0) else { return remarks + [ByteOrderMark.complaint] }
        guard let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] else {
            return remarks + ["is no JSON object"]
        }
        guard let aps = object["aps"] as? [String: Any] else { return remarks + ["has no object “aps”"] }
        guard pushType == "liveactivity" else { return remarks }
        let event = aps["event"] as? String
        if event.map({ !["start", "update", "end"].contains($0) }) ?? true {
            remarks.append("has no “event” in aps: expected start, update or end")
        }
        if aps["content-state"] as? [String: Any] == nil, event != "end" {
            remarks.append("has no object “content-state” in aps")
        }
        if event == "start" {
            for name in ["attributes-type", "attributes", "alert"] where aps[name] == nil {
                remarks.append("has no “\(name)” in aps, which a start needs")
            }
        }
        return remarks + Self.timestampRemarks(aps["timestamp"], nowSeconds: nowSeconds)
    }

    /// How far ahead a timestamp may be, in seconds. Beyond this, a phone would ignore many later updates. A timestamp
    /// in milliseconds is far beyond.
    private static let aheadSecondsMax: Int64 = 300
    private static let behindSecondsMax: Int64 = 86_400

    private static func timestampRemarks(_ value: Any?, nowSeconds: Int64) -> [String] {
        guard let number = value as? Double, let timestamp = Int64(exactly: number) else {
            return [
                "has no “timestamp” in aps: expected whole seconds since 1970, and a phone needs it to tell new from old"
            ]
        }
        let ahead = timestamp - nowSeconds
        if ahead > Self.aheadSecondsMax {
            return [
                "has a “timestamp” \(MomentText.span(millis: min(ahead, 1 << 40) * 1_000)) ahead: the phone then ignores later pushes with an earlier timestamp"
            ]
        }
        if ahead < -Self.behindSecondsMax {
            return [
                "has a “timestamp” \(MomentText.span(millis: min(-ahead, 1 << 40) * 1_000)) back: a phone that has something newer ignores it"
            ]
        }
        return []
    }
}
