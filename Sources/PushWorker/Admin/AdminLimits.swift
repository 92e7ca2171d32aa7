import NIOCore

/// What one client of the admin port may take, so that no number of them keeps a probe from its answer.
struct AdminLimits: Sendable {
    /// Connections at once. One more ends the one that has waited longest for its client; when all are being answered, the new one is closed.
    var connectionsMax = 64
    /// Requests of one connection; the last answer says `connection: close`. Pipelined ones past it are not read.
    var requestsPerConnectionMax = 100
    /// Longest time from a request's first byte to its last.
    var requestDurationMax = TimeAmount.seconds(10)
    /// Longest time from a request's last byte until the client has taken the whole answer.
    var answerDurationMax = TimeAmount.seconds(10)
    /// How long an answer of `/channels` may take. It waits for APNs: `ChannelPages.limits`, and a request's own time on top.
    var channelAnswerDurationMax = TimeAmount.seconds(60)
    /// Longest time between requests: more than scrapes are apart.
    var idleDurationMax = TimeAmount.seconds(90)
    /// Time after the last answer for the client to read it and close.
    var partingDurationMax = TimeAmount.seconds(1)
    /// The request line and all header fields, bytes.
    var headByteCountMax = 16_384
    /// This much of a body is passed on, bytes. `/channels` alone takes one, and a shorter one.
    var bodyByteCountMax = 16_384
}
