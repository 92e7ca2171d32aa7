import NIOCore

/// Limits for one client of the admin port, so that no number of clients can keep a probe from its answer.
struct AdminLimits: Sendable {
    /// Most connections at once. One more ends the one that has waited longest for its client. When all are being
    /// answered, the new one is closed.
    var connectionsMax = 64
    /// Most requests on one connection; the last answer says `connection: close`. Further pipelined ones are not read.
    var requestsPerConnectionMax = 100
    /// Longest time from a request's first byte to its last.
    var requestDurationMax = TimeAmount.seconds(10)
    /// Longest time from a request's last byte until the client has taken the whole answer.
    var answerDurationMax = TimeAmount.seconds(10)
    /// Longest time for an answer of `/channels`. It waits for APNs: `ChannelPages.limits`, and a request's own time on
    /// top.
    var channelAnswerDurationMax = TimeAmount.seconds(60)
    /// Longest time between requests: longer than between scrapes.
    var idleDurationMax = TimeAmount.seconds(90)
    /// Time after the last answer for the client to read it and close.
    var partingDurationMax = TimeAmount.seconds(1)
    /// Most bytes of the request line and all header fields.
    var headByteCountMax = 16_384
    /// Most bytes of a body that are passed on. Only `/channels` takes a body, and a shorter one.
    var bodyByteCountMax = 16_384
}
