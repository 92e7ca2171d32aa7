public import DeviceModel

/// The result of one push, in words for a person who wonders why a card does not change.
public struct PushVerdict: Equatable, Sendable {
    /// The kinds of verdicts, with their names for `is:` in a search.
    public enum Word: String, Sendable, CaseIterable {
        /// The phone shows what the push brought.
        case shown
        /// The phone took the push and still shows what it showed before.
        case ignored
        /// The phone, or the app's code, cannot read the push.
        case undecodable
        /// The phone silently drops the push, because it received too many pushes.
        case budget
        /// The phone is offline; APNs keeps the newest push.
        case waiting
        /// APNs kept the push until the phone was back. Its arrival is another push.
        case waited
        /// APNs kept the push for a phone that was away, and dropped it before the phone was back.
        case dropped
        /// APNs did not take the push.
        case refused
        /// APNs gave no answer.
        case unanswered
        /// APNs hands the broadcast to every phone that listens on the channel.
        case sent
    }

    /// The kind of verdict.
    public let word: Word
    /// The verdict in sentences.
    public let text: String

    /// Judges a push.
    /// - Parameters:
    ///   - stampSeconds: `aps.timestamp` of the push, seconds since 1970; `nil`: missing or unreadable.
    ///   - isSwiped: whether the card was swiped away before the push reached the phone.
    ///   - isCardOwn: whether the page draws each card that a start puts up. `false`: it draws the newest.
    ///   - areOthersSwiped: whether the phone's other cards were all swiped away.
    ///   - isEndOfCard: whether the push ends the activity of a card that is up.
    public init(
        _ push: ObservedPush, stampSeconds: Int64?, isSwiped: Bool = false, isCardOwn: Bool = false,
        areOthersSwiped: Bool = false, isEndOfCard: Bool = false
    ) {
        if let status = push.status, status != 200 {
            self.word = .refused
            self.text = "Refused by APNs: \(Self.answer(status, push.reason)). \(Self.remedy(status, push.reason))"
                .trimmingSpaceAtEnd()
            return
        }
        switch push.phone {
        case .notReached:
            self.word = .unanswered
            self.text = "APNs gave no answer, and the phone did not get the push."
        case .isAway:
            self.word = .waiting
            self.text = "The phone is away. APNs keeps the newest push until it is back, or until the push expires."
        case .couldNotDecode(let fault):
            self.word = .undecodable
            self.text =
                "The app cannot decode the push, and nothing of it is shown: \(fault)."
                + (isEndOfCard && !isSwiped ? " \(Self.remedyOfUnshownEnd)" : "")
        case .took where isSwiped:
            (self.word, self.text) = (.ignored, "Ignored: the card was swiped away before the push arrived.")
        case .took(.shownAsSecondCard) where isCardOwn && areOthersSwiped:
            (self.word, self.text) = (.shown, "The card shows what the push brought.")
        case .took(.shownAsSecondCard) where isCardOwn:
            (self.word, self.text) = (
                .shown, "The card shows what the push brought. Another card was up on the phone, and stays."
            )
        case .took(let reaction):
            (self.word, self.text) = Self.verdict(reaction, push, stampSeconds: stampSeconds)
        }
    }

    /// What to do about an end that APNs accepted and the phone did not show.
    static let remedyOfUnshownEnd =
        "The card is still up, and the worker counts the activity as ended: register its token under a new key, and "
        + "publish the corrected end there."

    /// Creates a verdict about what became of a push after APNs had answered.
    init(_ word: Word, _ text: String) { (self.word, self.text) = (word, text) }

    /// APNs' answer in short: the status, and the reason if there is one.
    static func answer(_ status: Int, _ reason: String) -> String {
        reason.isEmpty ? "\(status)" : "\(status) \(reason)"
    }

    /// Judges a broadcast.
    public init(_ broadcast: ObservedBroadcast) {
        guard let status = broadcast.status else {
            (self.word, self.text) = (.unanswered, "APNs gave no answer.")
            return
        }
        guard status == 200 else {
            self.word = .refused
            self.text = "Refused by APNs: \(Self.answer(status, broadcast.reason))."
            return
        }
        self.word = .sent
        switch (broadcast.listenerCount, broadcast.awayCount) {
        case (0, _): self.text = "APNs accepted it, and no phone listens on the channel."
        case (1, 0): self.text = "APNs sent it to the phone that listens."
        case (let count, 0): self.text = "APNs sent it to \(count) phones that listen."
        case (let count, let away):
            self.text = "APNs sent it to \(count - away) of \(count) phones that listen; the others are away."
        }
    }

    /// The kind of a push's verdict, without reading the payload.
    static func word(of push: PushGlimpse) -> Word {
        if let status = push.status, status != 200 { return .refused }
        return switch push.phone {
        case .notReached: .unanswered
        case .isAway: .waiting
        case .couldNotDecode: .undecodable
        case .took(.shown), .took(.shownAsSecondCard): .shown
        case .took(.throttled): .budget
        case .took(.ignoredRepeat), .took(.ignoredSameStamp), .took(.ignoredOlder), .took(.ignoredAfterEnd),
            .took(.ignoredStale), .took(.ignoredFuture):
            .ignored
        }
    }

    private static func verdict(
        _ reaction: Device.Reaction, _ push: ObservedPush, stampSeconds: Int64?
    ) -> (Word, String) {
        switch reaction {
        case .shown:
            (
                .shown,
                push.hadWaited
                    ? "The card shows what the push brought, now that the phone is back."
                    : "The card shows what the push brought."
            )
        case .shownAsSecondCard:
            (
                .shown,
                "The push put up a second card: both are up on this phone now, and the page draws only this newer one."
            )
        case .ignoredRepeat: (.ignored, "Ignored: the same push arrived before.")
        case .ignoredSameStamp:
            (.ignored, "Ignored: its timestamp \(Self.stamp(stampSeconds)) is that of what the phone shows.")
        case .ignoredOlder:
            (
                .ignored,
                "Ignored: its timestamp \(Self.stamp(stampSeconds)) is older than "
                    + "\(Self.stamp(push.stampBeforeSeconds)), which the phone has seen."
            )
        case .ignoredAfterEnd: (.ignored, "Ignored: the activity has ended on the phone.")
        case .ignoredStale: (.ignored, "Ignored: its stale-date was over when it arrived, so it puts up no card.")
        case .ignoredFuture: (.ignored, "Ignored: its timestamp \(Self.stamp(stampSeconds)) is too far ahead.")
        case .throttled:
            (
                .budget,
                "Over the budget on the phone: too many pushes at priority 10 within an hour. The phone drops them silently."
            )
        }
    }

    private static func stamp(_ seconds: Int64?) -> String {
        seconds.map { "\($0) (\(CivilTime(secondsSince1970: $0).clockText) UTC)" } ?? "(unknown)"
    }

    /// What is wrong, if the developer has caused the refusal. What to do about a dead token depends on the phone:
    /// `PhoneStatus`.
    private static func remedy(_ status: Int, _ reason: String) -> String {
        switch reason {
        case "" where status == 410: "The token is dead."
        case "Unregistered": "The token is dead."
        case "ExpiredToken": "The token is dead: the activity is gone from the phone."
        case "BadDeviceToken": "This token is not one of this environment."
        case "DeviceTokenNotForTopic": "The token belongs to another app."
        case "PayloadTooLarge": "A push may have 4,096 bytes."
        default: ""
        }
    }
}

extension PushVerdict {
    /// The verdict as JSON for the page and the API.
    public var json: JSONTree { ["word": .string(self.word.rawValue), "text": .string(self.text)] }
}

extension String {
    fileprivate func trimmingSpaceAtEnd() -> String { self.hasSuffix(" ") ? String(self.dropLast()) : self }
}
