import Upstream

/// One thing that happens in the story, and when.
struct Cue: Sendable {
    /// Milliseconds since the curtain rose; negative before.
    var atMillis: Int
    var action: Action

    enum Action: Sendable {
        /// A backend publishes a record.
        case publish(Publication)
        /// The app on a phone was given another token. From now on APNs answers 410 for the old one.
        case rotateToken(from: String, to: String)
        /// The app was removed from the phone. APNs answers 410.
        case killToken(String)
        /// APNs never issued this token, and answers 400.
        case disownToken(String)
        /// Once the card of `startToken` is on the phone, the activity gets its update token and the backend publishes
        /// it.
        case registerOnceStarted(startToken: String, updateToken: String, Publication)
        /// The phone's start names a channel, and the phone listens there once its card is up. No update token is
        /// reported.
        case listenOnceStarted(startToken: String)
        /// The app on a phone has put up the card and listens to the audience's channel. Its backend publishes the
        /// join.
        case listenAndJoin(StoryMembership)
        /// APNs asks the worker to leave its connections while requests are in flight.
        case goAway
        /// APNs takes this long to answer from now on; `nil`: as long as at the beginning.
        case answersTake(millis: Int?)
        /// A line for the people who watch.
        case say(String)
    }
}
