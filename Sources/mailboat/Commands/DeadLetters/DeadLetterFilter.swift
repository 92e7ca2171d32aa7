import ArgumentParser
import CommandSupport
import Foundation
import PushWorker
import Redaction

/// Selects dead letters.
struct DeadLetterFilter: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only those whose reason contains this text, in upper or lower case.", valueName: "text"))
    var reason: String?

    @Option(
        name: .customLong("event-id"),
        help: ArgumentHelp(
            "Only events that their publisher gave this 'id'. One whose id cannot be read is shown if it has this text in quotes.",
            valueName: "id"))
    var eventID: String?

    @Option(
        name: .customLong("source-topic"),
        help: ArgumentHelp("Only those that came from this topic.", valueName: "topic"), form: .topic)
    var sourceTopic: String?

    @Option(
        name: .customLong("source-partition"),
        help: ArgumentHelp("Only those that came from this partition.", valueName: "number"),
        form: .whole(0...Int32.max))
    var sourcePartition: Int32?

    @Option(
        name: .customLong("source-offsets"),
        help: ArgumentHelp("Only those that came from these offsets, both ends included.", valueName: "first-last"))
    var sourceOffsets: String?

    @Option(
        help: ArgumentHelp(
            "Only those written since: seconds since 1970, or a time ago such as 30m, 2h or 7d.", valueName: "time"))
    var since: String?

    @Option(
        name: .customLong("letter"),
        help: ArgumentHelp(
            "Only this one, by its place in the dead-letter topic. May be repeated.", valueName: "partition:offset"))
    var letters: [String] = []

    func validate() throws {
        _ = try self.offsets()
        _ = try self.sinceMillis(nowMillis: 0)
        for letter in self.letters {
            let parts = letter.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, Int32(parts[0]).map({ $0 >= 0 }) == true, Int64(parts[1]).map({ $0 >= 0 }) == true
            else {
                throw ValidationError(
                    "--letter is \(ShownText.closed(letter)): expected partition:offset, such as 3:17")
            }
        }
    }

    private func offsets() throws -> ClosedRange<Int64>? {
        guard let text = self.sourceOffsets else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1], first <= last
        else {
            throw ValidationError(
                "--source-offsets is \(ShownText.closed(text)): expected an offset or first-last, such as 100-250")
        }
        return first...last
    }

    private func sinceMillis(nowMillis: Int64) throws -> Int64? {
        try self.since.map { try SinceText.millis($0, nowMillis: nowMillis) }
    }

    /// Returns a test for letters. The times are computed once.
    func matcher(nowMillis: Int64) throws -> (DeadLetter) -> Bool {
        let (offsets, since) = (try self.offsets(), try self.sinceMillis(nowMillis: nowMillis))
        return { letter in
            if !self.letters.isEmpty, !self.letters.contains(letter.position) { return false }
            if let since, letter.writtenMillis < since { return false }
            if let reason = self.reason, !letter.reason.lowercased().contains(reason.lowercased()) { return false }
            if let id = self.eventID, !letter.isAbout(eventID: id) { return false }
            if let topic = self.sourceTopic, letter.source?.topic != topic { return false }
            if let partition = self.sourcePartition, letter.source?.partition != partition { return false }
            if let offsets, letter.source.map({ offsets.contains($0.offset) }) != true { return false }
            return true
        }
    }
}
