import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

@Suite struct AcknowledgedStateEndsTests {
    /// A claim says of nobody that he is at work; what was given up has no offset.
    @Test func theFirstRecordOfAnOwnerSaysNothing() {
        var ends = AcknowledgedStateEnds()
        ends.note(partition: 2, offset: 5)
        #expect(ends.take().isEmpty, "nobody has claimed it")
        ends.begin(2)
        ends.note(partition: 2, offset: 7)
        ends.note(partition: 2, offset: -1)
        #expect(ends.take().isEmpty)
        ends.note(partition: 2, offset: 8)
        ends.note(partition: 2, offset: 9)
        ends.note(partition: 2, offset: 1)
        let grown = ends.take()
        #expect(grown.map(\.partition) == [2] && grown.map(\.end) == [10])
        #expect(ends.take().isEmpty)
        ends.note(partition: 2, offset: 10)
        ends.begin(2)
        #expect(ends.take().isEmpty, "another ownership has begun")
        ends.note(partition: 2, offset: 20)
        ends.note(partition: 2, offset: 21)
        #expect(ends.take().map(\.end) == [22])
    }

    /// What a commit says is of its own log, and of what was known when the partition came.
    @Test func aCommitSaysWhatIsKnown() {
        let notes = PositionNotes(inputTopics: ["events", "routed"])
        var former = PositionNote()
        former.sample = PositionNote.Sample(offset: 9, millis: 90)
        former.stateEnd = 30
        former.stateStart = 4
        former.releasedWallMillis = 1
        let events = CommitPosition(topic: 0, partition: 1, nextOffset: 10)
        let routed = CommitPosition(topic: 1, partition: 1, nextOffset: 3)
        notes.own([(events, former), (routed, PositionNote())])
        #expect(
            notes.note(of: events).metadata == "mailboat at=9:90 state=30 from=4",
            "the release was said to one owner alone")
        #expect(notes.note(of: routed).metadata == "mailboat state=30 from=4 of=events:9:90")
        notes.noteRead(topic: 0, partition: 1, PositionNote.Sample(offset: 12, millis: 120))
        notes.noteRead(topic: 0, partition: 7, PositionNote.Sample(offset: 12, millis: 120))
        notes.noteStateEnds([(1, 33)])
        #expect(notes.note(of: events).sample?.offset == 9)
        let later = CommitPosition(topic: 0, partition: 1, nextOffset: 13)
        #expect(notes.note(of: later).metadata == "mailboat at=12:120 state=33 from=4")
        notes.forget([1])
        #expect(notes.note(of: later) == PositionNote())
    }
}
