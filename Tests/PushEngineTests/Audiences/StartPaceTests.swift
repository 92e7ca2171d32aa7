@testable import PushEngine
import PushModel
import Testing

/// How many members a record announces a start to.
@Suite struct StartPaceTests {
    /// A round that sends a number of announced starts each millisecond, and Kafka, which takes a given time to
    /// acknowledge.
    private struct Play {
        var pace = StartPace()
        var recordCount = 0
        var sentCount = 0
        /// Announced and not sent, in the last seconds.
        var aheadMax = 0

        init(perMilli: Int, acknowledgeMillis: Int64, forMillis: Int64 = 10_000) {
            var (announced, nextAnnounced, atRecord, sentSinceRecord) = (0, 0, 0, 0)
            var writtenMillis: Int64?
            for now in 0..<forMillis {
                if let written = writtenMillis, now >= written + acknowledgeMillis {
                    self.pace.noteAcknowledged(afterMillis: now - written)
                    announced += nextAnnounced
                    nextAnnounced = 0
                    writtenMillis = nil
                }
                let sent = min(perMilli, announced)
                announced -= sent
                sentSinceRecord += sent
                self.sentCount += sent
                if writtenMillis != nil, sent < perMilli, sentSinceRecord > 0 { self.pace.noteDry() }
                if now > forMillis / 2 { self.aheadMax = max(self.aheadMax, announced + nextAnnounced) }
                guard writtenMillis == nil, 2 * announced <= atRecord else { continue }
                self.pace.noteRecord(sentCount: sentSinceRecord, nowMillis: now)
                sentSinceRecord = 0
                nextAnnounced = max(0, self.pace.count - announced)
                atRecord = announced + nextAnnounced
                writtenMillis = now
                self.recordCount += 1
            }
        }
    }

    @Test(arguments: [1, 2, 5, 10, 20], [Int64(2), 10, 30, 60])
    func aFifthOfASecondIsAnnouncedInTenRecordsASecond(perMilli: Int, acknowledgeMillis: Int64) {
        let play = Play(perMilli: perMilli, acknowledgeMillis: acknowledgeMillis)
        #expect(play.aheadMax <= max(StartPace.countMin, perMilli * 230))
        #expect(play.recordCount <= 110, "\(play.recordCount) records in 10 s")
        // Connections are not kept waiting but for the first moments.
        #expect(play.sentCount >= perMilli * 9_500)
    }

    /// Kafka is slow: more is announced, so that the round gets on.
    @Test(arguments: [Int64(150), 300]) func aSlowKafkaDoesNotSlowTheRound(acknowledgeMillis: Int64) {
        let play = Play(perMilli: 5, acknowledgeMillis: acknowledgeMillis, forMillis: 20_000)
        #expect(play.sentCount >= 5 * 20_000 * 9 / 10)
        #expect(play.aheadMax <= StartPace.countMax)
    }

    @Test func itStaysWithinItsBounds() {
        var pace = StartPace()
        #expect(pace.count == StartPace.countMin)
        for step in 1...20 {
            pace.noteDry()
            pace.noteRecord(sentCount: 1_000_000, nowMillis: Int64(step))
        }
        #expect(pace.count == StartPace.countMax)
        pace.noteRecord(sentCount: 0, nowMillis: 60_000)
        #expect(pace.count == StartPace.countMin)
        pace.noteRecord(sentCount: .max / 2, nowMillis: 70_000)
        #expect(pace.count == StartPace.countMax)
    }
}
