import NIOCore

/// Limits for the clients of the admin port. With them a probe gets its answer, even when there are many clients.
struct AdminLimits: Sendable {
    /// Maximum number of connections. When it is exceeded, the connection that has kept us waiting longest is closed.
    /// If all others wait for our answers, the new one is closed.
    var connectionsMax = 64
    /// Maximum number of requests on one connection. The last answer says `connection: close`, and later requests are
    /// not read.
    var requestsPerConnectionMax = 100
    /// Longest time from a request's first byte until its head is complete, and from then until its last byte.
    var requestDurationMax = TimeAmount.seconds(10)
    /// Longest time from a request's last byte until the client has taken the whole answer.
    var answerDurationMax = TimeAmount.seconds(10)
    /// Longest time for an answer of `/channels`, which waits for APNs. It is longer than the time that
    /// `ChannelPages.limits` allows.
    var channelAnswerDurationMax = TimeAmount.seconds(60)
    /// Longest time between two requests. It is longer than the usual interval between scrapes.
    var idleDurationMax = TimeAmount.seconds(90)
    /// Longest time for the client to read the last answer and close the connection.
    var partingDurationMax = TimeAmount.seconds(1)
    /// Maximum number of bytes of the request line and all header fields together.
    var headByteCountMax = 16_384
    /// Maximum number of bytes of a body that are passed on. Only `/channels` takes a body, and its own limit is lower.
    var bodyByteCountMax = 16_384
}
