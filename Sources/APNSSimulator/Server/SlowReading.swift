import NIOCore

/// Reads slowly from a channel: small pieces, within a number of bytes a second. Confined to the channel's loop.
final class SlowReading {
    /// Pieces a second, if each piece has at least one byte.
    private static let piecesPerSecond = 20

    private var task: RepeatedTask?
    private let channel: any Channel

    init(_ context: ChannelHandlerContext, bytesPerSecond: Int) {
        let bytesPerSecond = min(max(bytesPerSecond, 1), 1 << 30)
        let byteCount = max(1, bytesPerSecond / Self.piecesPerSecond)
        self.channel = context.channel
        let options = context.channel.syncOptions
        try? options?.setOption(.autoRead, value: false)
        try? options?.setOption(.maxMessagesPerRead, value: 1)
        try? options?.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: byteCount))
        let pause = TimeAmount.nanoseconds(Int64(byteCount) * 1_000_000_000 / Int64(bytesPerSecond))
        let channel = context.channel
        self.task = context.eventLoop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in channel.read() }
    }

    /// Stops the trickle and restores the channel's read sizes. It leaves `autoRead` off.
    func stop() {
        self.task?.cancel()
        self.task = nil
        let options = self.channel.syncOptions
        try? options?.setOption(.maxMessagesPerRead, value: 4)
        try? options?.setOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator())
    }
}
