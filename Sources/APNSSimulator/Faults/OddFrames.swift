/// Frames that a server must not, or need not, send. The raw value is the control API's name.
public enum OddFrames: String, Sendable, CaseIterable {
    // Frames that the client must tolerate: the connection continues.

    /// A hundred frames of length 0 and of an unknown type.
    case empty
    /// A frame of an unknown type.
    case unknown
    /// The client may send a thousand bytes more.
    case window

    // Frames that the client must answer with GOAWAY: the connection ends.

    /// DATA said to be 16 MiB - 1 long, far over SETTINGS_MAX_FRAME_SIZE.
    case giant
    /// PING of length 0 (eight bytes are due).
    case emptyPing = "empty-ping"
    /// PUSH_PROMISE, which clients forbid by SETTINGS_ENABLE_PUSH 0.
    case pushPromise = "push-promise"
    /// SETTINGS on a stream.
    case settingsOnStream = "settings-on-stream"
    /// DATA on stream 0.
    case dataOnConnection = "data-on-connection"
    /// WINDOW_UPDATE past 2^31 - 1.
    case windowOverflow = "window-overflow"
    /// WINDOW_UPDATE by 0.
    case windowZero = "window-zero"
    /// CONTINUATION without HEADERS before it.
    case continuation
    /// HEADERS on a stream that the client never opened.
    case headersUnasked = "headers-unasked"
    /// Bytes that are not HTTP/2.
    case garbage

    /// Whether the client must end the connection.
    public var endsConnection: Bool {
        switch self {
        case .empty, .unknown, .window: false
        case .giant, .emptyPing, .pushPromise, .settingsOnStream, .dataOnConnection, .windowOverflow, .windowZero,
            .continuation, .headersUnasked, .garbage:
            true
        }
    }

    var bytes: [UInt8] {
        var frames = FrameBytes()
        switch self {
        case .empty: for _ in 0..<100 { frames.append(type: .unknown, streamID: 0, []) }
        case .unknown: frames.append(type: .unknown, streamID: 0, Array(repeating: 7, count: 100))
        case .window: frames.append(type: .windowUpdate, streamID: 0, FrameBytes.number(1_000))
        case .giant:
            frames.append(type: .data, streamID: 1, announced: 0xff_ffff, Array(repeating: 0, count: 1_000))
        case .emptyPing: frames.append(type: .ping, streamID: 0, [])
        case .pushPromise:
            // Promised stream 2, `:method GET` from the static table.
            frames.append(
                type: .pushPromise, flags: FrameBytes.endHeaders, streamID: 1, FrameBytes.number(2) + [0x82])
        case .settingsOnStream: frames.append(type: .settings, streamID: 1, [])
        case .dataOnConnection: frames.append(type: .data, streamID: 0, [1, 2, 3])
        case .windowOverflow:
            frames.append(type: .windowUpdate, streamID: 0, FrameBytes.number(UInt32(Int32.max)))
        case .windowZero: frames.append(type: .windowUpdate, streamID: 0, FrameBytes.number(0))
        case .continuation:
            frames.append(type: .continuation, flags: FrameBytes.endHeaders, streamID: 1, [0x88])
        case .headersUnasked:
            frames.append(
                type: .headers, flags: FrameBytes.endHeaders | FrameBytes.endStream, streamID: 2, [0x88])
        case .garbage: return Array(repeating: 0xff, count: 100)
        }
        return frames.bytes
    }
}
