import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests that records are written and read as before, byte for byte. Other releases read what this one writes, and this
/// release reads what they wrote.
@Suite struct GoldenRecordTests {
    // MARK: Whole records

    /// Each flag and each optional part is present in one of the records, and absent from another.
    @Test func whatIsWrittenIsAsItWas() {
        for (cases, golden) in [(GoldenState.cases, GoldenFile.state), (GoldenRouted.cases, GoldenFile.routed)] {
            for (name, bytes) in cases {
                let record = golden.first { $0.name == name }
                #expect(
                    record?.bytes == bytes, "\(name) is written otherwise, or new. Its line:\n\(Self.line(name, bytes))"
                )
            }
            #expect(golden.count == cases.count && Set(cases.map(\.name)).count == cases.count)
        }
    }
    /// Reads each record, writes it again, and compares. The test above covers only writing.
    @Test(arguments: GoldenFile.state + GoldenFile.routed)
    func whatIsReadIsAsItWas(record: GoldenFile.Record) {
        #expect(
            record.refusal == nil && GoldenFile.Record(reading: record.bytes, name: record.name).line == record.line)
    }
    private static func line(_ name: String, _ bytes: [UInt8]) -> String {
        GoldenFile.Record(reading: bytes, name: name).line
    }

    @Test func everyKindIsThere() {
        let kinds = Set(GoldenFile.state.map { $0.bytes[1] })
        // No kind has ever had the number 11.
        #expect(kinds == Set((1...13 as ClosedRange<UInt8>).filter { StateCodec.Kind(rawValue: $0) != nil }))
        let routed = Set(GoldenFile.routed.map { String($0.name.prefix(while: { $0 != "." })) })
        #expect(routed == Set(RoutedKind.allCases.compactMap { $0.name.map { "\($0)" } }))
    }

    // MARK: Broken records

    /// Each broken record is read as it was before, or refused with the same words.
    @Test(arguments: GoldenFile.broken)
    func whatIsBrokenIsReadAsItWas(record: GoldenFile.Record) {
        let line = Self.line(record.name, record.bytes)
        #expect(line == record.line, "it is read or refused otherwise. Its line would be:\n\(line)")
    }
    @Test func enoughAreBroken() {
        #expect(GoldenFile.broken.count > 100)
    }
    /// Tests broken forms of each record: a byte is changed, removed or doubled, the record is cut off, or further
    /// bytes follow. Each form is read or refused as it was before.
    @Test(arguments: GoldenFile.state + GoldenFile.routed)
    func everyBrokenFormIsReadAsItWas(record: GoldenFile.Record) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for form in Self.brokenForms(of: record.bytes) {
            for byte in GoldenFile.Record(reading: form, name: record.name).line.utf8 {
                hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
            }
        }
        let told = String(hash, radix: 16)
        #expect(
            GoldenFile.sweeps[record.name] == told,
            "a broken form of it is read or refused in another way, or it is new. Its line:\n\(record.name) \(told)")
    }
    static func brokenForms(of bytes: [UInt8]) -> [[UInt8]] {
        var forms: [[UInt8]] = [bytes + [0], bytes + [1, 0]]
        for index in bytes.indices {
            forms.append(Array(bytes[..<index]))
            for value in [0, 2, 0x10, 0x40, 0x7f, 0xff, bytes[index] ^ 1, bytes[index] &+ 1] where value != bytes[index]
            {
                var form = bytes
                form[index] = value
                forms.append(form)
            }
            var shorter = bytes
            shorter.remove(at: index)
            forms.append(shorter)
            var longer = bytes
            longer.insert(bytes[index], at: index)
            forms.append(longer)
        }
        return forms
    }
    /// An engine keeps working after it has read any of these records, even under the key of an activity.
    @Test(arguments: GoldenFile.state + GoldenFile.broken)
    func anEngineTakesEach(record: GoldenFile.Record) {
        var random = StateRandom(seed: 1)
        let own = Self.keys[String(record.name.prefix(while: { $0 != "." }))]
        for key in [own, Self.keys["activity"]] {
            guard let key else { continue }
            RestoredEngine.run(on: record.bytes, key: key, random: &random)
        }
    }

    // MARK: Keys

    /// Keys by the kind of their record.
    private static let keys: [String: [UInt8]] = {
        let texts = [
            "marker": "m", "activity": "a/com.example.pizza/match-7", "channel": "c/com.example.pizza/match-7",
            "audience": "o/com.example.pizza/match-7", "versions": "v/com.example.pizza/match-7",
            "progress": "p/com.example.pizza/match-7", "voided": "d/com.example.pizza/match-7",
            "start-progress": "r/com.example.pizza/match-7", "paused": "h/com.example.pizza/match-7",
            "kept": "k/com.example.pizza/p/3",
        ]
        var keys = texts.mapValues { Array($0.utf8) }
        keys["member"] = [UInt8(ascii: "t"), 0xa0, 0xb1, 0xc2]
        keys["start-member"] = [UInt8(ascii: "s"), 8, 7, 6, 5, 4, 3, 2, 1, 0xd0, 0xd1, 0xd2]
        return keys
    }()

    @Test func keysAreAsTheyWere() {
        let id = Array("match-7".utf8)
        #expect(MarkerRecord.key == Self.keys["marker"])
        for (kind, name) in [(SlotKind.activity, "activity"), (.channel, "channel"), (.audience, "audience")] {
            var key: [UInt8] = []
            StateCodec.appendKey(kind: kind, bundleID: "com.example.pizza", id: id.span, to: &key)
            #expect(key == Self.keys[name])
        }
        let records: [(StateCodec.CrowdRecord, String)] = [
            (.versions, "versions"), (.progress, "progress"), (.voided, "voided"), (.starts, "start-progress"),
        ]
        for (record, name) in records {
            var key: [UInt8] = []
            StateCodec.appendKey(record, bundleID: "com.example.pizza", id: id, to: &key)
            #expect(key == Self.keys[name])
        }
        let kept = KeptChannelKey(bundleID: "com.example.pizza", environment: .production, number: 3)
        #expect(kept.bytes == Self.keys["kept"])
        var start: [UInt8] = []
        let token: [UInt8] = [0xd0, 0xd1, 0xd2]
        StartMemberRecord.appendKey(reference: 0x0102_0304_0506_0708, token: token.span, to: &start)
        #expect(start == Self.keys["start-member"])
        let reference = StartMemberRecord.reference(inKey: start.span)
        let range = StartMemberRecord.tokenRange(inKey: start.span)
        #expect(reference == 0x0102_0304_0506_0708 && range == 9..<12)
    }
    /// The number by which members' records name an audience. It must be the same on every worker.
    @Test func anAudienceIsNamedAsItWas() {
        let (bundleID, id) = (Array("com.example.pizza".utf8), Array("match-7".utf8))
        let reference = CrowdTable.reference(bundleID: bundleID.span, id: id.span)
        #expect(reference == 0x4e86_ecfb_6927_ef10)
    }
}
