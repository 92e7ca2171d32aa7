import Testing

/// Tests that commands for readers to paste put keys on the partitions where workers expect them.
struct PartitionerTests {
    /// A command of kcat that produces, up to its end in a shell or in a list of words.
    private static var producing: Regex<Substring> { #/kcat"?,? [^|\n]*"?-P\b/# }
    /// The option with which a command names the partition itself.
    private static var placing: Regex<Substring> { #/-p[", ]/# }

    /// kcat places keys by CRC32 by default. The worker then warns, and the record takes a second hop.
    @Test func everyKcatThatProducesHasThePartitioner() {
        var count = 0
        for file in ProjectFiles.allTextFiles() where !file.path.hasPrefix("Tests/TidyTests/") {
            for (index, line) in file.lines.enumerated() where line.contains(Self.producing) {
                count += 1
                // A list of words may go on in the next line.
                let command = line + (index + 1 < file.lines.count ? file.lines[index + 1] : "")
                #expect(
                    command.contains("partitioner=murmur2_random") || command.contains(Self.placing),
                    "\(file.path):\(index + 1): kcat without -X partitioner=murmur2_random: \(line)")
            }
        }
        #expect(count >= 15, "the test finds what it looks for")
    }
}
