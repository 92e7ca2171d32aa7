@testable import PushEngine
import PushModel
import Testing

/// Tests how many members one record announces for a start.
@Suite struct StartPaceTests {
    /// A round that sends announced starts at a given rate, and a Kafka that takes a given time to acknowledge.
    private struct Play {
        var pace = StartPace()
        var recordCount = 0
        var sentCount = 0
        /// The largest number of members that were announced but not yet sent the start, in the second half of the
        /// play.
        var aheadMax = 0

        init(perMilli: Int, acknowledgeMillis: Int64, forMillis: Int64 = 10_000) {
            var (announced, nextAnnounced, atRecord, sentSinceRecord) = (0, 0, 0, 0)
            var writtenMillis: Int64?
            for now in 0..<forMillis {
                if let written = writtenMillis, now >= written + acknowledgeMillis {
                    self.pace.measureAcknowledgement(afterMillis: now - written)
                    announced += nextAnnounced
                    nextAnnounced = 0
                    writtenMillis = nil
                }
                let sent = min(perMilli, announced)
                announced -= sent
                sentSinceRecord += sent
                self.sentCount += sent
                if writtenMillis != nil, sent < perMilli, sentSinceRecord > 0 { self.pace.markDry() }
                if now > forMillis / 2 { self.aheadMax = max(self.aheadMax, announced + nextAnnounced) }
                guard writtenMillis == nil, 2 * announced <= atRecord else { continue }
                self.pace.beginRecord(sentCount: sentSinceRecord, nowMillis: now)
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
        // Connections wait for announcements only at the beginning.
        #expect(play.sentCount >= perMilli * 9_500)
    }

    /// Kafka is slow, so more members are announced, and the round keeps its pace.
    @Test(arguments: [Int64(150), 300]) func aSlowKafkaDoesNotSlowTheRound(acknowledgeMillis: Int64) {
        let play = Play(perMilli: 5, acknowledgeMillis: acknowledgeMillis, forMillis: 20_000)
        #expect(play.sentCount >= 5 * 20_000 * 9 / 10)
        #expect(play.aheadMax <= StartPace.countMax)
    }

    @Test func itStaysWithinItsBounds() {
        var pace = StartPace()
        #expect(pace.count == StartPace.countMin)
        for step in 1...20 {
            pace.markDry()
            pace.beginRecord(sentCount: 1_000_000, nowMillis: Int64(step))
        }
        #expect(pace.count == StartPace.countMax)
        pace.beginRecord(sentCount: 0, nowMillis: 60_000)
        #expect(pace.count == StartPace.countMin)
        pace.beginRecord(sentCount: .max / 2, nowMillis: 70_000)
        #expect(pace.count == StartPace.countMax)
    }
}
