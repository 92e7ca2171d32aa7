import PushEngine
import ShardLoop
import Testing

@testable import PushWorker

@Suite struct AcknowledgedStateEndsTests {
    /// An owner's first record is only its claim, and does not prove that the owner has done work. A record that was
    /// given up has no offset and is ignored.
    @Test func theFirstRecordOfAnOwnerSaysNothing() {
        var ends = AcknowledgedStateEnds()
        ends.acknowledged(partition: 2, offset: 5)
        #expect(ends.take().isEmpty, "nobody has claimed it")
        ends.begin(2)
        ends.acknowledged(partition: 2, offset: 7)
        ends.acknowledged(partition: 2, offset: -1)
        #expect(ends.take().isEmpty)
        ends.acknowledged(partition: 2, offset: 8)
        ends.acknowledged(partition: 2, offset: 9)
        ends.acknowledged(partition: 2, offset: 1)
        let grown = ends.take()
        #expect(grown.map(\.partition) == [2] && grown.map(\.end) == [10])
        #expect(ends.take().isEmpty)
        ends.acknowledged(partition: 2, offset: 10)
        ends.begin(2)
        #expect(ends.take().isEmpty, "another ownership has begun")
        ends.acknowledged(partition: 2, offset: 20)
        ends.acknowledged(partition: 2, offset: 21)
        #expect(ends.take().map(\.end) == [22])
    }

    /// The metadata of a commit describes the committed topic and `state`. It holds the newest knowledge, or else what
    /// was known at assignment.
    @Test func aCommitSaysWhatIsKnown() {
        let store = CommitMetadataStore(inputTopics: ["events", "routed"])
        var former = CommitMetadata()
        former.sample = CommitMetadata.Sample(offset: 9, millis: 90)
        former.stateEnd = 30
        former.stateStart = 4
        former.releasedWallMillis = 1
        let events = CommitPosition(topic: 0, partition: 1, nextOffset: 10)
        let routed = CommitPosition(topic: 1, partition: 1, nextOffset: 3)
        store.own([(events, former), (routed, CommitMetadata())])
        #expect(
            store.metadata(for: events).text == "mailboat at=9:90 state=30 from=4",
            "the release was said to one owner alone")
        #expect(store.metadata(for: routed).text == "mailboat state=30 from=4 of=events:9:90")
        store.addSample(topic: 0, partition: 1, CommitMetadata.Sample(offset: 12, millis: 120))
        store.addSample(topic: 0, partition: 7, CommitMetadata.Sample(offset: 12, millis: 120))
        store.setStateEnds([(1, 33)])
        #expect(store.metadata(for: events).sample?.offset == 9)
        let later = CommitPosition(topic: 0, partition: 1, nextOffset: 13)
        #expect(store.metadata(for: later).text == "mailboat at=12:120 state=33 from=4")
        store.forget([1])
        #expect(store.metadata(for: later) == CommitMetadata())
    }
}
