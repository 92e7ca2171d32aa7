import PushModel
import Testing

@Suite struct Murmur2Tests {
    /// The values come from Apache Kafka's own tests (`UtilsTest.testMurmur2`) and from its clients' tests. The keys
    /// cover every length of the rest after whole words, and the empty key.
    @Test(arguments: [
        ("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107), ("", 275_646_681),
        ("1", -1_993_445_489),
        ("12", 126_087_238), ("123", -267_702_483), ("1234", -1_614_185_708), ("12345", -1_188_365_604),
        ("rule", -1_673_595_344),
        ("monkey", 385_264_353), ("hover", -1_982_829_826),
    ])
    func knownHashes(key: String, hash: Int32) {
        #expect(Int32(bitPattern: Murmur2.hash(Array(key.utf8).span)) == hash)
    }

    @Test(arguments: [("foobar", 10, 6), ("foobar", 50, 16), ("AAPL", 16, 1), ("abc", 1, 0), ("", 64, 25)])
    func knownPartitions(key: String, count: Int32, partition: Int32) {
        #expect(Murmur2.partition(key: Array(key.utf8).span, count: count) == partition)
    }

    @Test func everyPartitionIsInRangeAndUsed() {
        var used = Set<Int32>()
        for number in 0..<2_000 {
            used.insert(Murmur2.partition(key: Array("activity-\(number)".utf8).span, count: 64))
        }
        #expect(used == Set(0..<64))
    }
}
