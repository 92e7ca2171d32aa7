import APNSProtocol

/// Why a request about channels failed, what it was about, and what to do.
public struct ChannelFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of request.
    public enum Action: String, Sendable, CaseIterable { case create, read, delete, list }

    /// Why the request failed.
    public enum Cause: Sendable, Equatable {
        /// The app is not configured in this environment.
        case notConfigured
        /// The given id does not have the form of a channel's id.
        case invalidChannel
        /// APNs refused the request with this status and reason.
        case refused(status: UInt16, reason: String)
        /// The app has as many channels as Apple allows. `count` is their number, if it could be read.
        case limitReached(count: Int?)
        /// A creation was sent, and no answer arrived. A channel may exist.
        case creationUnanswered(String)
        /// The last attempt got no answer, and no further attempt is allowed.
        case unanswered(String)
        /// No connection took the request in time. The value is the state of the route.
        case notSent(RouteStatus)
        /// The answer is not as Apple documents it.
        case unreadable(String)
        /// This process already has too many requests about channels without an answer.
        case overloaded
        /// The client was closed, or the caller's task was cancelled.
        case closed
    }

    /// The kind of request.
    public var action: Action
    /// The app and the environment that the request was about.
    public var home: ChannelHome
    /// The channel that the request was about; empty if channels are created or listed.
    public var channel: String
    /// Why the request failed.
    public var cause: Cause

    public init(_ action: Action, _ home: ChannelHome, channel: String = "", _ cause: Cause) {
        self.action = action
        self.home = home
        self.channel = channel
        self.cause = cause
    }

    /// One line: what failed, why, and what to do.
    public var description: String { "\(self.subject): \(self.cause.text): \(self.remedy)" }

    private var subject: String {
        switch self.action {
        case .create: "no channel was made for \(self.home)"
        case .read: "channel \(self.channel) of \(self.home) cannot be read"
        case .delete: "channel \(self.channel) of \(self.home) was not deleted"
        case .list: "the channels of \(self.home) cannot be listed"
        }
    }
}

extension ChannelFailure.Cause {
    init(_ response: PushResponse) {
        self =
            response.reason == "CannotCreateChannelConfig"
            ? .limitReached(count: nil) : .refused(status: response.status, reason: response.reason)
    }

    /// The cause as a clause.
    public var text: String {
        switch self {
        case .notConfigured: "the app is not configured there"
        case .invalidChannel: "this is no channel id"
        case .refused(let status, let reason): "APNs says \(status) \(reason.isEmpty ? "without a reason" : reason)"
        case .limitReached(let count):
            "APNs says CannotCreateChannelConfig: an app may have \(ChannelRequest.countMax) channels in an environment"
                + (count.map { ", and this one has \($0)" } ?? "")
        case .creationUnanswered(let detail):
            "the request left and no answer arrived (\(detail)), so a channel may exist"
        case .unanswered(let detail): "no answer (\(detail))"
        case .notSent(let status): "\(status.host):\(status.port) took no request\(Self.why(status))"
        case .unreadable(let detail): "APNs' answer is not as Apple documents it: \(detail)"
        case .overloaded: "too many requests about channels are under way"
        case .closed: "it was given up"
        }
    }

    private static func why(_ status: RouteStatus) -> String {
        if !status.connectFailure.isEmpty { return " (\(status.connectFailure))" }
        return status.reason.isEmpty ? "" : " (last refusal: \(status.reason))"
    }
}
