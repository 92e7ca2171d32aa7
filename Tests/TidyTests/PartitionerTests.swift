import Testing

/// Tests of the kcat commands that readers paste. A command must put keys in the partitions where workers expect them.
struct PartitionerTests {
    /// A kcat command that produces records, up to its end in a shell line or in a list of words.
    private static var producing: Regex<Substring> { #/kcat"?,? [^|\n]*"?-P\b/# }
    /// The option with which a command names the partition itself. The key does not matter then.
    private static var placing: Regex<Substring> { #/-p[", ]/# }

    /// Every kcat command that produces names the partitioner. By default kcat chooses partitions by CRC32, so the
    /// worker would warn and forward the record.
    @Test func everyKcatThatProducesHasThePartitioner() {
        var count = 0
        for file in ProjectFiles.allTextFiles where !file.path.hasPrefix("Tests/TidyTests/") {
            for (index, line) in file.lines(with: "kcat") where line.contains(Self.producing) {
                count += 1
                // A list of words may continue in the next line.
                let command = line + (index + 1 < file.lines.count ? file.lines[index + 1] : "")
                #expect(
                    command.contains("partitioner=murmur2_random") || command.contains(Self.placing),
                    "\(file.path):\(index + 1): kcat without -X partitioner=murmur2_random: \(line)")
            }
        }
        #expect(count >= 15, "the test finds what it looks for")
    }
}
