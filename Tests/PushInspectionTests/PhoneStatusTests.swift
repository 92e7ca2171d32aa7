import DeviceModel
import Testing

@testable import PushInspection

/// Tests of a phone's status, which depends on its tokens, its card, and the worker's next attempt.
struct PhoneStatusTests {
    private static let event = #"{"event":"update","content-state":{"minutes":12}}"#
    private static let newToken = String(repeating: "cd", count: 32)

    /// A timeline with a phone of `order-1` and an event for it.
    private static func registered() throws -> (timeline: Timeline, phone: Int) {
        var timeline = TimelineTests.timeline()
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 0, &timeline)
        Self.publish(Self.event, at: 1, &timeline)
        return (timeline, try #require(timeline.phone(activity: "order-1")?.id))
    }

    private static func publish(_ value: String, at offset: Int64, _ timeline: inout Timeline) {
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: offset), key: Array("order-1".utf8), value: Array(value.utf8),
            nowMillis: TimelineTests.now)
    }

    private static func refused(_ status: Int, _ reason: String) -> ObservedPush {
        TimelineTests.push(status: status, reason: reason, phone: .notReached)
    }

    private static func card(_ content: String = #"{"minutes":12}"#) -> Shown {
        var shown = Device().shown(atSeconds: 0)
        shown.card = .active
        shown.contentState = Array(content.utf8)
        return shown
    }

    private static func status(_ timeline: Timeline, _ id: Int) throws -> PhoneStatus {
        try #require(timeline.phones[id].flatMap(timeline.status))
    }

    /// A phone's status is "unseen" until the page has looked at its card. In a flood, phones appear faster than the
    /// page looks.
    @Test func aCardThatNobodyHasSeenIsNotSaidToBeShown() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        #expect(try Self.status(timeline, id).word == .unseen)
        // The page has looked at the phone, and the phone shows nothing.
        timeline.setShown(Device().shown(atSeconds: 0), isOnline: true, of: id)
        #expect(try Self.status(timeline, id).word == .unseen)
        timeline.setShown(Self.card(), isOnline: true, of: id)
        #expect(try Self.status(timeline, id).word == .verdict(.shown))
        let phone = timeline.json(try #require(timeline.phones[id]))
        #expect(phone.text.contains(#""verdict":{"word":"shown","text":"#) && phone["textWithoutPush"] == .null)
    }

    @Test func aRefusalBelongsToTheTokenThatWasPushedTo() throws {
        var (timeline, id) = try Self.registered()
        timeline.addToken(Self.newToken, to: id, isReported: false)
        timeline.listPush(Self.refused(410, "Unregistered"))
        let told = try Self.status(timeline, id)
        #expect(told.word == .verdict(.refused) && told.remedies == [.registerToken])
        #expect(told.text.hasSuffix("The app has another token, which nobody has registered."), "\(told.text)")

        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 2, &timeline)
        let renewed = try Self.status(timeline, id)
        #expect(renewed.word == .renewed && renewed.remedies.isEmpty, "the worker has the event still")
        #expect(renewed.text.hasPrefix("The new token is registered, and nothing was pushed to it yet."))

        timeline.setShown(Self.card(), isOnline: true, of: id)
        timeline.listPush(TimelineTests.push(id: "id-2", token: Self.newToken))
        #expect(try Self.status(timeline, id).word == .verdict(.shown))
    }

    /// A new token is reported at once. A card that is up does not mean that all is well if APNs would refuse the next
    /// push.
    @Test(arguments: [true, false]) func aNewTokenIsSaidAtOnce(isPushed: Bool) throws {
        var (timeline, id) = try Self.registered()
        if isPushed {
            timeline.listPush(TimelineTests.push())
            timeline.setShown(Self.card(), isOnline: true, of: id)
        }
        timeline.addToken(Self.newToken, to: id, isReported: false)
        let status = try Self.status(timeline, id)
        #expect(status.word == .needsToken && status.remedies == [.registerToken])
        #expect(status.text.hasPrefix("The app has a new token that nobody has registered."), "\(status.text)")
        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 2, &timeline)
        #expect(timeline.phones[id].flatMap(timeline.status)?.word == (isPushed ? .verdict(.shown) : nil))
    }

    @Test func whatDoesNotExistIsNotAdvised() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        let dead = try Self.status(timeline, id)
        #expect(
            dead.text
                == "Refused by APNs: 410 Unregistered. The token is dead. The app has no newer token to register. If the activity is still on the phone, the app gets one, and your server registers that: the worker keeps the newest event for it for a while. If the card or the app is gone, none will come: publish {\"event\": \"unregister\"}, or nothing more. Only a simulated phone can be given a token by a button."
        )
        #expect(dead.remedies == [.renewToken])
        timeline.setSwiped(id)
        let swiped = try Self.status(timeline, id)
        #expect(
            swiped.text.hasSuffix(
                "The app tells its server, which publishes {\"event\": \"unregister\"} with this key. An event that waits ends as rejected when no token comes in time."
            ))
        #expect(swiped.remedies == [.unregister])
        let revision = timeline.phones[id]?.revision ?? 0
        Self.publish(#"{"event":"unregister"}"#, at: 2, &timeline)
        #expect(timeline.phones[id]?.revision ?? 0 > revision, "the page hears of it")
        let told = try Self.status(timeline, id)
        #expect(told.text.hasSuffix("nothing more is sent to it. A new card needs a start.") && told.remedies.isEmpty)
        timeline.setWait(EventWait(cause: "token", text: "a token", untilMillis: nil, isGivenUpThen: true), of: [2])
        let waiting = try Self.status(timeline, id).text
        let ending = "start. An event that still waits ends as unregistered; nothing needs to be done about it."
        #expect(waiting.hasSuffix(ending), "\(waiting)")
    }

    /// After the app was removed, the page offers only the unregistration, because no app is left to tell the server.
    /// It no longer shows the dates of the phone's content.
    @Test func anAppThatIsRemovedTellsNobody() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(#"{"eta":817491900}"#), isOnline: true, of: id)
        #expect(timeline.phones[id].map(timeline.json)?["dates"]?.text != "[]")
        #expect(timeline.removeApp(from: id).map(\.id) == [id])
        let status = try Self.status(timeline, id)
        #expect(status.word == .gone && status.remedies == [.unregister] && status.wait == nil)
        #expect(status.text.hasPrefix("The app was removed: the activity is over, and no app is left"))
        let told = timeline.phones[id].map(timeline.json)
        #expect(told?["dates"]?.text == "[]" && told?["appRemoved"] == .bool(true) && told?["swiped"] == .bool(true))
    }

    @Test func aRefusalIsNotTheEndWhileTheWorkerTriesAgain() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(503, "ServiceUnavailable"))
        #expect(timeline.failedPushes == 1)
        #expect(timeline.entry(2)?.related == [3], "the attempt stands behind its event at once")
        let plain = try Self.status(timeline, id)
        #expect(plain.word == .verdict(.refused) && plain.remedies.isEmpty, "the worker has not given it up")
        let wait = EventWait(
            cause: "attempt", text: "the next attempt: the last has failed", untilMillis: TimelineTests.now + 2_000,
            isGivenUpThen: false)
        timeline.setWait(wait, of: [2])
        let retrying = try Self.status(timeline, id)
        #expect(retrying.word == .retrying && retrying.wait == wait && retrying.remedies.isEmpty)

        try timeline.takeOutcome(
            #require(EventOutcome.read(TimelineTests.outcome("delivered", at: 1), topic: "events")?.outcome),
            of: EventPosition(partition: 0, offset: 1))
        #expect(try Self.status(timeline, id).wait == nil)
    }

    @Test func whatTheWorkerHasGivenUpCanBeSentAgain() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(413, "PayloadTooLarge"))
        try timeline.takeOutcome(
            #require(EventOutcome.read(TimelineTests.outcome("rejected", at: 1), topic: "events")?.outcome),
            of: EventPosition(partition: 0, offset: 1))
        #expect(try Self.status(timeline, id).remedies == [.sendAgain(entry: 2)])
    }

    /// The worker has given the event up, so it no longer keeps it for another token.
    @Test func whatTheWorkerHasGivenUpIsNotKept() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        #expect(try Self.status(timeline, id).text.contains("the worker keeps the newest event for it for a while."))
        try timeline.takeOutcome(
            #require(EventOutcome.read(TimelineTests.outcome("rejected", at: 1), topic: "events")?.outcome),
            of: EventPosition(partition: 0, offset: 1))
        let text = try Self.status(timeline, id).text
        #expect(text.contains("the worker has given the newest event up, so publish it again then."), "\(text)")
    }

    /// At a 410 the worker removes a member of an audience: nothing waits, and nobody needs to unregister it.
    @Test(arguments: [true, false]) func aSwipedMemberIsRemovedByTheWorker(isAppRemoved: Bool) throws {
        var timeline = TimelineTests.timeline()
        timeline.joinMember(token: TimelineTests.token, audience: "match-7", isStartMember: false, app: "")
        let id = timeline.meet(token: TimelineTests.token, activity: "match-7", app: "")
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(), isOnline: true, of: id)
        if isAppRemoved { _ = timeline.removeApp(from: id) } else { timeline.setSwiped(id) }
        let status = try Self.status(timeline, id)
        let end = isAppRemoved ? "" : " A new card joins with its own token."
        #expect(
            status.text.hasSuffix("At the 410 the worker removes this member, and nothing waits for it.\(end)"),
            "\(status.text)")
        #expect(!status.text.contains("unregister") && status.remedies.isEmpty)
    }

    /// The new token of a member's phone joins the audience. It is not registered for an activity of the same name.
    @Test func theNewTokenOfAMemberJoinsItsAudience() throws {
        var timeline = TimelineTests.timeline()
        timeline.joinMember(token: TimelineTests.token, audience: "match-7", isStartMember: false, app: "")
        let id = timeline.meet(token: TimelineTests.token, activity: "match-7", app: "")
        timeline.listPush(Self.refused(410, "Unregistered"))
        let dead = try Self.status(timeline, id)
        #expect(dead.text.contains("the worker removes this member") && dead.remedies == [.renewToken])
        timeline.addToken(Self.newToken, to: id, isReported: false)
        let told = try Self.status(timeline, id)
        #expect(told.text.hasSuffix("which has not joined the audience.") && told.remedies == [.registerToken])
        let membership = try #require(timeline.phones[id].flatMap(timeline.membershipToRenew))
        #expect(membership.audience == "match-7" && !membership.isStartMember)
        timeline.rejoin(token: Self.newToken, audience: "match-7", isStartMember: false, app: "")
        #expect(timeline.audienceNames(ofMember: Self.newToken) == ["match-7"])
        #expect(timeline.phones[id]?.tokenToRegister == nil && timeline.phone(token: Self.newToken)?.id == id)
        #expect(try Self.status(timeline, id).word == .renewed)
    }

    /// An event that waits for a token other than the refused one is not retried by itself. The status still says
    /// "refused".
    @Test func aWaitForAnotherTokenIsNoRetry() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        timeline.setWait(
            EventWait(cause: "token", text: "another token", untilMillis: nil, isGivenUpThen: true), of: [2])
        let status = try Self.status(timeline, id)
        #expect(status.word == .verdict(.refused) && status.wait?.cause == "token")
        #expect(status.remedies == [.renewToken])
    }

    @Test func aPhoneWhoseActivityIsRegisteredElsewhereSaysWhere() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 2, &timeline)
        let status = try Self.status(timeline, id)
        #expect(status.word == .replaced && status.text.contains("go to phone \(id + 1) now"))
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 3, &timeline)
        #expect(try Self.status(timeline, id).word == .verdict(.refused))
    }

    /// The card of a new start takes the activity over. The old, dead phone then offers no `unregister`, which would end
    /// the registration of the new card.
    @Test func aDeadPhoneWhoseActivityHasANewCardOffersNothing() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setSwiped(id)
        timeline.listPush(Self.refused(410, "ExpiredToken"))
        #expect(try Self.status(timeline, id).remedies == [.unregister])
        Self.publish(#"{"event":"unregister"}"#, at: 2, &timeline)
        #expect(try Self.status(timeline, id).remedies.isEmpty)
        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 3, &timeline)
        let status = try Self.status(timeline, id)
        #expect(status.word == .replaced && status.remedies.isEmpty && status.text.hasSuffix("Its card is gone."))
        let phone = timeline.json(try #require(timeline.phones[id]))
        #expect(phone["replacedBy"] == .integer(id + 1))
        #expect(timeline.phones[id + 1]?.tokenToRegister == nil)
    }

    /// A card that is up and was unregistered can be registered again.
    @Test func anUnregisteredCardCanBeRegisteredAgain() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(), isOnline: true, of: id)
        Self.publish(#"{"event":"unregister"}"#, at: 2, &timeline)
        Self.publish(#"{"event":"update","content-state":{"minutes":13}}"#, at: 3, &timeline)
        let text = "a token: nobody has registered one under this key. The event is kept for 10 min"
        let wait = EventWait(cause: "token", text: text, untilMillis: nil, isGivenUpThen: true)
        timeline.setWait(wait, of: [5])
        let status = try Self.status(timeline, id)
        #expect(status.word == .needsToken && status.remedies == [.registerToken])
        #expect(
            status.wait?.text
                == "a token: the one under this key was unregistered, and none has been registered since. The event is kept for 10 min"
        )
        #expect(timeline.phones[id]?.tokenToRegister == TimelineTests.token)
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 4, &timeline)
        timeline.setWait(wait, of: [5])
        #expect(try Self.status(timeline, id).remedies.isEmpty && timeline.phones[id]?.tokenToRegister == nil)
    }

    /// A phone that waits for a token does not give way to others. It keeps waiting when the lines of its event are
    /// gone, until the worker says that the wait is over.
    @Test func aPhoneWaitsOnWithoutTheLineOfItsEvent() throws {
        var timeline = TimelineTests.timeline { ($0.entriesMax, $0.phonesMax) = (10, 3) }
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 0, &timeline)
        Self.publish(Self.event, at: 1, &timeline)
        let id = try #require(timeline.phone(activity: "order-1")?.id)
        let wait = EventWait(cause: "token", text: "another token", untilMillis: nil, isGivenUpThen: true)
        timeline.setWait(wait, of: [2])
        #expect(timeline.phonesOfForgottenWaits.isEmpty)
        for number in 0..<20 {
            timeline.addNote("something else", phone: 0, nowMillis: TimelineTests.now)
            timeline.meet(token: String(repeating: "0\(number % 10)", count: 32), activity: "n-\(number)", app: "")
        }
        #expect(timeline.entry(2) == nil && timeline.phonesOfForgottenWaits.map(\.id) == [id])
        #expect(try Self.status(timeline, id).word == .needsToken)
        timeline.setWait(wait, ofPhone: id)
        #expect(try Self.status(timeline, id).word == .needsToken)
        timeline.setWait(nil, ofPhone: id)
        #expect(timeline.phones[id]?.wait == nil)
    }

    /// An activity's phone is the one with the registered token, even if another phone appeared later.
    @Test func thePhoneOfAnActivityIsTheOneThatIsRegistered() throws {
        var (timeline, id) = try Self.registered()
        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 2, &timeline)
        #expect(timeline.phone(activity: "order-1")?.id == id + 1)
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 3, &timeline)
        #expect(timeline.phone(activity: "order-1")?.id == id)
    }

    /// A push counts as shown until the next push that the phone shows.
    @Test func aPushSaysUntilWhenItWasShown() throws {
        var (timeline, _) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.listPush(TimelineTests.push(id: "id-2", phone: .isAway))
        let first = try #require(timeline.entry(3))
        #expect(timeline.json(first)["shownUntilMillis"] == .null)
        timeline.listPush(TimelineTests.push(id: "id-3"))
        let until = timeline.entries.map { timeline.json($0)["shownUntilMillis"]?.text }
        #expect(until == [nil, nil, "\(TimelineTests.now)", "null", "null"])
    }

    @Test func aPushThatCannotBeDecodedOffersTheSwiftType() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push(phone: .couldNotDecode("“minutes” is missing")))
        let status = try Self.status(timeline, id)
        let push = try #require(timeline.entries.last?.id)
        #expect(status.word == .verdict(.undecodable) && status.remedies == [.copySwift(entry: push)])
    }

    /// A phone is not green when it is known to show something other than the newest push.
    @Test func whatIsShownNowIsSaid() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(), isOnline: true, of: id)
        #expect(try Self.status(timeline, id).word == .verdict(.shown))

        var stale = Self.card()
        stale.card = .stale
        timeline.setShown(stale, isOnline: true, of: id)
        #expect(try Self.status(timeline, id).word == .stale)

        var ended = Self.card()
        ended.card = .ended
        timeline.setShown(ended, isOnline: true, of: id)
        #expect(try Self.status(timeline, id).word == .ended)

        var dated = Self.card()
        dated.contentState = Array(#"{"at":1764000000}"#.utf8)
        timeline.setShown(dated, isOnline: true, of: id)
        let doubtful = try Self.status(timeline, id)
        #expect(doubtful.word == .doubtfulDate && doubtful.text.contains("send 785692800"), "\(doubtful.text)")
        #expect(doubtful.text.hasSuffix("Give your Swift type in the tab App, and the page knows."), "\(doubtful.text)")
        timeline.setSchemas(["": try ContentSchema(swift: "struct ContentState: Codable { var at: Date }")])
        let wrong = try Self.status(timeline, id)
        #expect(wrong.word == .doubtfulDate && wrong.text.hasSuffix("from 2001: send 785692800."), "\(wrong.text)")
        timeline.setSchemas([:])

        timeline.setShown(Self.card(), isOnline: true, of: id)
        func wait(_ cause: String) -> EventWait {
            EventWait(cause: cause, text: "something", untilMillis: nil, isGivenUpThen: false)
        }
        timeline.setWait(wait("window"), of: [2])
        #expect(try Self.status(timeline, id).word == .verdict(.shown), "the event of the push itself")
        Self.publish(#"{"event":"update","content-state":{"minutes":11}}"#, at: 2, &timeline)
        let newer = try #require(timeline.entries.last?.id)
        timeline.setWait(wait("window"), of: [newer])
        #expect(try Self.status(timeline, id).word == .pending)
        timeline.addToken(Self.newToken, to: id, isReported: false)
        timeline.setWait(wait("registration"), of: [newer])
        let needs = try Self.status(timeline, id)
        #expect(needs.word == .needsToken && needs.remedies == [.registerToken])
        timeline.setWait(nil, of: [newer])

        var gone = Self.card()
        gone.card = .dismissed
        let count = timeline.entries.count
        timeline.setShown(gone, isOnline: true, of: id, nowMillis: TimelineTests.now)
        #expect(try Self.status(timeline, id).word == .gone)
        #expect(timeline.entries.count == count + 1 && timeline.entries.last?.activity == "order-1")
        guard case .note(id, "The card has left the Lock Screen.")? = timeline.entries.last?.body else {
            Issue.record("the timeline does not say that the card has gone")
            return
        }
    }

    @Test func aCardThatWasSwipedAwayIsGone() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(), isOnline: true, of: id)
        timeline.setSwiped(id)
        #expect(try Self.status(timeline, id).word == .gone)
    }

    /// After a registration with another token, the old card gets no further pushes. So its phone is not green.
    @Test func aPhoneThatIsPushedToNoMoreIsNotGreen() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(TimelineTests.push())
        timeline.setShown(Self.card(), isOnline: true, of: id)
        Self.publish(#"{"event":"register","token":"\#(Self.newToken)"}"#, at: 2, &timeline)
        #expect(try Self.status(timeline, id).word == .replaced)
    }

    @Test func withoutAListedPushNobodyInventsOne() throws {
        var (timeline, id) = try Self.registered()
        timeline.setShown(Self.card(), isOnline: true, of: id)
        let text = timeline.json(try #require(timeline.phones[id])).text
        #expect(text.contains("The push that brought its card is not listed here."), "\(text)")
        timeline.joinMember(token: TimelineTests.token, audience: "match-7", isStartMember: false, app: "")
        let member = timeline.json(try #require(timeline.phones[id])).text
        #expect(member.contains("Its card shows a push to its audience."), "\(member)")
    }

    /// If the app's Swift type is known, the page offers no other type. A type made from the server's content would
    /// hide the server's mistake.
    @Test func whereTheTypeIsKnownNoOtherIsOffered() throws {
        var (timeline, id) = try Self.registered()
        timeline.setSchemas(["": try ContentSchema(["minutes": .number("12")])])
        timeline.listPush(TimelineTests.push(phone: .couldNotDecode("“minutes” is missing")))
        #expect(try Self.status(timeline, id).remedies.isEmpty)
    }

    @Test func whatFailedFirstIsHistory() throws {
        var (timeline, id) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        timeline.addToken(Self.newToken, to: id, isReported: true)
        timeline.listPush(TimelineTests.push(id: "id-2", token: Self.newToken))
        try timeline.takeOutcome(
            #require(
                EventOutcome.read(
                    TimelineTests.outcome("delivered", at: 1, more: #","apns-id":"id-2""#), topic: "events")?.outcome),
            of: EventPosition(partition: 0, offset: 1))
        let text = timeline.summary(of: try #require(timeline.entry(2)))
        #expect(
            text
                == "First refused (410 Unregistered); then accepted with the new token. Delivered: APNs accepted the push."
        )
    }

    /// An event that was pushed and refused was sent, although a newer one took its place.
    @Test func whatWasRefusedIsNotCalledUnsent() throws {
        var (timeline, _) = try Self.registered()
        timeline.listPush(Self.refused(410, "Unregistered"))
        Self.publish(Self.event, at: 2, &timeline)
        for offset in [1, 2] as [Int64] {
            let into = #","into":{"partition":0,"offset":9}"#
            try timeline.takeOutcome(
                #require(
                    EventOutcome.read(TimelineTests.outcome("superseded", at: offset, more: into), topic: "events")?
                        .outcome),
                of: EventPosition(partition: 0, offset: offset))
        }
        let texts = try [2, 4].map { timeline.summary(of: try #require(timeline.entry($0))) }
        #expect(
            texts == [
                "Superseded by a newer event before APNs had accepted it.",
                "Superseded by a newer event before it was sent.",
            ])
    }

    @Test func aRegistrationSaysWhatWaitedForIt() throws {
        var timeline = TimelineTests.timeline()
        Self.publish(Self.event, at: 0, &timeline)
        Self.publish(#"{"event":"register","token":"\#(TimelineTests.token)"}"#, at: 1, &timeline)
        timeline.listPush(TimelineTests.push())
        for (name, offset) in [("delivered", 0), ("applied", 1)] as [(String, Int64)] {
            let more = offset == 0 ? #","apns-id":"id-1""# : ""
            try timeline.takeOutcome(
                #require(
                    EventOutcome.read(TimelineTests.outcome(name, at: offset, more: more), topic: "events")?.outcome),
                of: EventPosition(partition: 0, offset: offset))
        }
        let text = timeline.summary(of: try #require(timeline.entry(2)))
        #expect(text == "Applied: the worker knows the token. The event before it waited for that.")
    }

    @Test func aDoubtfulDateIsFound() throws {
        var (timeline, _) = try Self.registered()
        timeline.listPush(TimelineTests.push(content: #"{"at":"2026-11-27T17:05:00Z"}"#))
        #expect(timeline.search(try EntryQuery("is:date? is:push")).map(\.id) == [3])
        #expect(timeline.json(try #require(timeline.entry(3))).text.contains(#""word":"date?""#))
    }

    /// After a flood the page asks the worker for an unknown phone, because its registration may not have been read.
    @Test func afterAFloodTheWorkerIsAskedForAPhone() {
        var timeline = TimelineTests.timeline { $0.entriesPerSecondMax = 1 }
        func update(_ key: String, second: Int64) -> Timeline.Need? {
            timeline.takeEvent(
                at: EventPosition(partition: 0, offset: Int64(timeline.revision)), key: Array(key.utf8),
                value: Array(Self.event.utf8), nowMillis: TimelineTests.now + second * 1_000)
        }
        #expect(update("order-1", second: 0) == .phone(activity: "order-1", app: ""))
        #expect(update("order-2", second: 0) == nil, "it came too fast")
        timeline.look(at: "order-3", nowMillis: TimelineTests.now)
        #expect(update("order-3", second: 0) == nil, "listed, and no time to ask")
        #expect(!timeline.makesPhones)
        #expect(update("order-9", second: 1) == nil, "the second before brought too much")
        #expect(update("order-3", second: 3) == .phoneUnlessRegistered(activity: "order-3", app: ""))
        #expect(update("order-3", second: 5) == nil, "asked once")
        timeline.forgetNeed(activity: "order-3")
        #expect(update("order-3", second: 7) == .phoneUnlessRegistered(activity: "order-3", app: ""))
    }

    @Test func olderEntriesAreFound() throws {
        var timeline = TimelineTests.timeline()
        for offset in 0..<5 { Self.publish(Self.event, at: Int64(offset), &timeline) }
        #expect(timeline.search(try EntryQuery(""), before: 3).map(\.id) == [2, 1])
        #expect(timeline.search(try EntryQuery("is:event"), before: nil, limit: 2).map(\.id) == [5, 4])
    }
}
