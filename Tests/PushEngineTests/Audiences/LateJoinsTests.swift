import PushModel
import Testing

@testable import PushEngine

/// Compares late joins with a plain list.
@Suite struct LateJoinsTests {
    private struct Join: Equatable {
        var member: MemberID
        var number: UInt32
        var offset: Int64
        var isWaiting = true
    }

    @Test("Late joins behave like a plain list", arguments: 0..<60 as Range<UInt64>)
    func areAsAList(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var late = LateJoins()
        var list: [Join] = []
        // With `leavesOut` the numbers have gaps. A crowd with several rounds numbers the joins of all rounds together,
        // so each round sees gaps.
        let leavesOut = seed % 2 == 1
        var number = leavesOut ? UInt32.max - 20 : UInt32.max
        for _ in 0..<300 {
            let member = MemberID(rawValue: Int32.random(in: 0..<12, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                number &+= leavesOut ? UInt32.random(in: 1...3, using: &random) : 1
                for index in list.indices where list[index].member == member { list[index].isWaiting = false }
                list.append(Join(member: member, number: number, offset: -1))
                guard !leavesOut else {
                    late.joined(member, number: number)
                    break
                }
                let given = late.joined(member)
                #expect(given == number)
            case 4:
                let waited = list.contains { $0.member == member && $0.isWaiting }
                for index in list.indices where list[index].member == member { list[index].isWaiting = false }
                let hasWaited = late.forget(member)
                #expect(hasWaited == waited)
            case 5..<8:
                let number = list.randomElement(using: &random)?.number ?? 7
                let other = Bool.random(using: &random) ? number : number &- 40
                late.written(other, at: Int64(number))
                for index in list.indices where list[index].number == other { list[index].offset = Int64(number) }
            case 8:
                let popped = late.popFirst()
                #expect(popped?.join.member == list.first?.member && popped?.wasWaiting == list.first?.isWaiting)
                if !list.isEmpty { list.removeFirst() }
            default:
                list = Array(list.drop { !$0.isWaiting })
                let popped = late.popWaiting()
                #expect(popped == list.first?.member)
                if !list.isEmpty { list.removeFirst() }
            }
            #expect(
                late.queue.map {
                    Join(member: $0.member, number: $0.number, offset: $0.offset, isWaiting: late.isWaiting($0))
                } == list)
            #expect(late.count == list.count(where: \.isWaiting))
        }
    }

    @Test func numbersGoOnWhenNobodyWaits() {
        var late = LateJoins()
        let first = late.joined(MemberID(rawValue: 1), offset: 5)
        late.removeAll()
        #expect(late.count == 0 && late.queue.isEmpty && late.first == nil)
        let second = late.joined(MemberID(rawValue: 1))
        #expect(second == first + 1)
        late.written(first, at: 9)
        #expect(late.first?.offset == -1)
    }
}
