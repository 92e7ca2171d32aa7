import DeviceModel
import Testing

/// Tests of what a phone that listens to a channel must show. Each storage policy promises a certain state, and no
/// more.
@Suite struct ChannelHistoryTests {
    /// Steps of a case, a second apart. Step n happens at n seconds.
    enum Step {
        case update(Int, alert: String = "", keptSeconds: Int64 = 0)
        case end
        case leave, comeBack, stop
        /// A pause of this many seconds.
        case pause(Int64)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var storage = ChannelStorage.none
        var steps: [Step]
        /// Numbers of the updates that the phone got, in order. -1 stands for the end.
        var got: [Int]
        /// The fault that the judge finds. `nil` means that the phone is right.
        var fault: String?
        var testDescription: String { self.name }
    }

    private static let three: [Step] = [.update(1), .update(2), .update(3)]
    private static let awayAtTheSecond: [Step] = [.update(1), .leave, .update(2), .comeBack]

    static let cases: [Case] = [
        Case(name: "always there, everything", steps: three, got: [1, 2, 3]),
        Case(name: "always there, only the newest", steps: three, got: [3]),
        Case(
            name: "always there, lacks the newest", steps: three, got: [1, 2], fault: #"is {"n":2}, expected {"n":3}"#),
        Case(name: "nothing at all", steps: three, got: [], fault: "the device shows nothing"),
        Case(name: "a channel that said nothing", steps: [], got: []),
        Case(
            name: "an alert that did not ring", steps: [.update(1, alert: "A"), .update(2)], got: [2],
            fault: #"newest alert is absent, expected {"title":"A""#),
        Case(name: "an alert that rang", steps: [.update(1, alert: "A"), .update(2)], got: [1, 2]),
        Case(
            name: "an older alert is not asked for", steps: [.update(1, alert: "A"), .update(2, alert: "B")], got: [2]),
        Case(name: "the end", steps: [.update(1), .end, .update(2)], got: [1, -1]),
        Case(name: "lacks the end", steps: [.update(1), .end], got: [1], fault: "lives, expected that it has ended"),

        Case(name: "away: may lack it", steps: awayAtTheSecond, got: [1]),
        Case(
            name: "away: cannot have it", steps: awayAtTheSecond, got: [1, 2], fault: #"is {"n":2}, expected {"n":1}"#),
        Case(name: "away: right with the next one", steps: awayAtTheSecond + [.update(3)], got: [1, 3]),
        Case(
            name: "away: wrong with the next one", steps: awayAtTheSecond + [.update(3)], got: [1],
            fault: #"is {"n":1}, expected {"n":3}"#),
        Case(name: "still away", steps: [.update(1), .leave, .update(2), .end], got: [1]),
        Case(
            name: "away: an alert is lost", steps: [.leave, .update(1, alert: "A"), .comeBack, .update(2)], got: [2]),

        Case(
            name: "stored: handed over", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .comeBack], got: [1, 2]),
        Case(
            name: "stored: not handed over", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .comeBack], got: [1],
            fault: #"is {"n":1}, expected {"n":2}"#),
        Case(
            name: "stored: still away", storage: .mostRecent, steps: [.update(1), .leave, .update(2, keptSeconds: 60)],
            got: [1]),
        Case(
            name: "stored: only the newest of two", storage: .mostRecent,
            steps: [
                .update(1), .leave, .update(2, alert: "A", keptSeconds: 60), .update(3, keptSeconds: 60), .comeBack,
            ], got: [1, 3]),
        Case(
            name: "stored: has expired", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .pause(60), .comeBack], got: [1]),
        Case(
            name: "stored: expired, and shown all the same", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .pause(60), .comeBack], got: [1, 2],
            fault: #"is {"n":2}, expected {"n":1}"#),
        Case(
            name: "stored: 8 hours at most", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 50_000), .pause(28_800), .comeBack], got: [1]),
        Case(
            name: "stored: a newer one that is not, handed over", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .update(3), .comeBack], got: [1, 2]),
        Case(
            name: "stored: a newer one that is not, gone", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .update(3), .comeBack], got: [1]),
        Case(
            name: "stored: a newer one that is not, shown", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .update(3), .comeBack], got: [1, 3],
            fault: #"is {"n":3}, expected {"n":2}, or one of 1 older states"#),
        Case(
            name: "stored: the end", storage: .mostRecent,
            steps: [.update(1), .leave, .update(2, keptSeconds: 60), .end, .comeBack], got: [1]),

        Case(name: "listens no more", steps: [.update(1), .stop, .update(2)], got: [1]),
        Case(
            name: "listens no more, and is told", steps: [.update(1), .stop, .update(2)], got: [1, 2],
            fault: #"is {"n":2}, expected {"n":1}"#),
    ]

    /// The result of playing steps: what was published, when the phone listened, and the bodies by number.
    private struct Play {
        var channel: ChannelHistory
        var listener = ListenerHistory(beganMillis: 0)
        var bodies: [Int: [UInt8]] = [:]

        init(_ storage: ChannelStorage, _ steps: [Step]) {
            self.channel = ChannelHistory(storage: storage)
            var seconds: Int64 = 0
            for step in steps {
                seconds += 1
                let millis = seconds * 1_000
                switch step {
                case .update(let number, let alert, let keptSeconds):
                    let body = Pushes.update(
                        seconds, #"{"n":\#(number)}"#, alert.isEmpty ? "" : Pushes.alert(alert))
                    self.bodies[number] = body
                    self.channel.publish(
                        body: body, atMillis: millis, expirationSeconds: keptSeconds == 0 ? 0 : seconds + keptSeconds)
                case .end:
                    self.bodies[-1] = Pushes.end(seconds)
                    self.channel.publish(body: Pushes.end(seconds), atMillis: millis)
                case .leave: self.listener.leave(atMillis: millis)
                case .comeBack: self.listener.comeBack(atMillis: millis)
                case .stop: self.listener.stop(atMillis: millis)
                case .pause(let more): seconds += more
                }
            }
        }
    }

    @Test(arguments: Self.cases)
    func aPhoneIsJudgedByWhatThePolicyPromises(_ given: Case) throws {
        let play = Play(given.storage, given.steps)
        var phone = Device()
        _ = try phone.pushAll(given.got.compactMap { play.bodies[$0] })
        let fault = play.channel.firstFault(of: phone, listener: play.listener)
        if let words = given.fault {
            #expect(fault?.contains(words) == true, "\(fault ?? "no fault")")
        } else {
            #expect(fault == nil)
        }
    }

    /// The judge accepts both results if a message is published within `uncertainMillis` of a change of the listener.
    /// The message may have reached the phone or not.
    @Test(arguments: [(0, false), (999, false), (1_000, true)] as [(Int64, Bool)])
    func closenessIsForgiven(uncertainMillis: Int64, isForgiven: Bool) throws {
        // The steps happen at 1, 2 and 3 s. So the phone leaves a second after the second message.
        let play = Play(.none, [.update(1), .update(2), .leave])
        var phone = Device()
        _ = try phone.pushAll([try #require(play.bodies[1])])
        let fault = play.channel.firstFault(of: phone, listener: play.listener, uncertainMillis: uncertainMillis)
        #expect((fault == nil) == isForgiven)
        // This phone is judged less than a second after the second message.
        let early = play.channel.firstFault(
            of: phone, listener: ListenerHistory(beganMillis: 0), atMillis: 2_999, uncertainMillis: uncertainMillis)
        #expect((early == nil) == isForgiven)
    }

    @Test func whatWasStoredBeforeItListenedMayBeShownOrNot() throws {
        var channel = ChannelHistory(storage: .mostRecent)
        channel.publish(body: Pushes.update(1), atMillis: 1_000, expirationSeconds: 100)
        let listener = ListenerHistory(beganMillis: 2_000)
        var phone = Device()
        #expect(channel.firstFault(of: phone, listener: listener) == nil)
        _ = try phone.pushAll([Pushes.update(1)])
        #expect(channel.firstFault(of: phone, listener: listener) == nil)
    }

    @Test func theCardItBeganWithIsShownUntilTheFirstMessage() throws {
        var card = Device()
        _ = try card.pushAll([Pushes.start(5)])
        var channel = ChannelHistory(storage: .none)
        let listener = ListenerHistory(beginning: card, beganMillis: 5_000)
        #expect(channel.firstFault(of: card, listener: listener) == nil)
        channel.publish(body: Pushes.update(6, #"{"n":6}"#), atMillis: 6_000)
        #expect(channel.firstFault(of: card, listener: listener)?.contains(#"expected {"n":6}"#) == true)
        _ = try card.pushAll([Pushes.update(6, #"{"n":6}"#)])
        #expect(channel.firstFault(of: card, listener: listener) == nil)
        #expect(channel.witness(beginning: card).equivalent(to: card))
    }

    @Test func whatNoPhoneCanDecodeIsPassedOver() throws {
        var channel = ChannelHistory(storage: .none)
        channel.publish(body: Array(#"{"aps":{}}"#.utf8), atMillis: 1_000)
        #expect(channel.firstFault(of: Device(), listener: ListenerHistory(beganMillis: 0)) == nil)
        #expect(channel.witness().phase == .untouched)
    }

    /// The judge accepts a phone that follows the rules. It refuses a phone that misses the newest message that it
    /// should get.
    @Test(arguments: 1...300 as ClosedRange<UInt64>)
    func whoFollowsTheRulesIsRight(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let storage: ChannelStorage = Bool.random(using: &random) ? .none : .mostRecent
        var channel = ChannelHistory(storage: storage)
        var listener = ListenerHistory(beganMillis: 0)
        var (phone, isOnline): (Device, Bool) = (Device(), true)
        var stored: (body: [UInt8], untilSeconds: Int64)?
        // The phone's state before the newest message that it got. `nil` means that it has missed a message since.
        var before: Device?
        for seconds in 1...80 as ClosedRange<Int64> {
            let millis = seconds * 1_000
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                isOnline.toggle()
                guard isOnline else {
                    listener.leave(atMillis: millis)
                    break
                }
                listener.comeBack(atMillis: millis)
                if let kept = stored, kept.untilSeconds > seconds {
                    before = phone
                    _ = try phone.push(body: kept.body, priority: 5, nowMillis: millis)
                }
            default:
                let alert = Int.random(in: 0..<3, using: &random) == 0 ? Pushes.alert("A\(seconds)") : ""
                let body = Pushes.update(seconds, #"{"n":\#(seconds)}"#, alert)
                let expiration = storage == .none ? 0 : seconds + Int64.random(in: 1...20, using: &random)
                channel.publish(body: body, atMillis: millis, expirationSeconds: expiration)
                if storage == .mostRecent { stored = (body, expiration) }
                if isOnline {
                    before = phone
                    _ = try phone.push(body: body, priority: 5, nowMillis: millis)
                }
            }
            let fault = channel.firstFault(of: phone, listener: listener)
            try #require(fault == nil, "seed \(seed), second \(seconds): \(fault ?? "")")
        }
        if let before, !before.equivalent(to: phone) {
            #expect(channel.firstFault(of: before, listener: listener) != nil, "seed \(seed)")
        }
    }
}
