/// An HTTP/2 error code, as in RST_STREAM and GOAWAY (RFC 9113 §7). Codes that are not listed here keep their number.
public struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The code's number in frames.
    public var rawValue: UInt32

    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// No error: a graceful end.
    public static let noError = HTTP2ErrorCode(rawValue: 0x0)
    /// The peer broke the protocol in a way that no other code names.
    public static let protocolError = HTTP2ErrorCode(rawValue: 0x1)
    /// Something unexpected happened at the sender.
    public static let internalError = HTTP2ErrorCode(rawValue: 0x2)
    /// The peer broke the rules of flow control.
    public static let flowControlError = HTTP2ErrorCode(rawValue: 0x3)
    /// SETTINGS were not acknowledged in time.
    public static let settingsTimeout = HTTP2ErrorCode(rawValue: 0x4)
    /// A frame arrived for a stream that was half closed already.
    public static let streamClosed = HTTP2ErrorCode(rawValue: 0x5)
    /// A frame had a size that is not allowed.
    public static let frameSizeError = HTTP2ErrorCode(rawValue: 0x6)
    /// The stream was refused before anything was processed, so the request may be sent again (RFC 9113 §8.7).
    public static let refusedStream = HTTP2ErrorCode(rawValue: 0x7)
    /// The stream is no longer needed.
    public static let cancel = HTTP2ErrorCode(rawValue: 0x8)
    /// The state of header compression is lost: the connection can no longer be used.
    public static let compressionError = HTTP2ErrorCode(rawValue: 0x9)
    /// A connection made for a CONNECT request was reset or closed.
    public static let connectError = HTTP2ErrorCode(rawValue: 0xa)
    /// The peer generates too much load.
    public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0xb)
    /// TLS is not as secure as HTTP/2 requires (RFC 9113 §9.2).
    public static let inadequateSecurity = HTTP2ErrorCode(rawValue: 0xc)
    /// The endpoint wants HTTP/1.1 instead.
    public static let http11Required = HTTP2ErrorCode(rawValue: 0xd)
}

extension HTTP2ErrorCode: CustomStringConvertible {
    /// The code's name in the RFC, such as `REFUSED_STREAM`; an unknown code is `ERROR_0x1f`.
    public var description: String {
        switch self {
        case .noError: "NO_ERROR"
        case .protocolError: "PROTOCOL_ERROR"
        case .internalError: "INTERNAL_ERROR"
        case .flowControlError: "FLOW_CONTROL_ERROR"
        case .settingsTimeout: "SETTINGS_TIMEOUT"
        case .streamClosed: "STREAM_CLOSED"
        case .frameSizeError: "FRAME_SIZE_ERROR"
        case .refusedStream: "REFUSED_STREAM"
        case .cancel: "CANCEL"
        case .compressionError: "COMPRESSION_ERROR"
        case .connectError: "CONNECT_ERROR"
        case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
        case .inadequateSecurity: "INADEQUATE_SECURITY"
        case .http11Required: "HTTP_1_1_REQUIRED"
        default: "ERROR_0x" + String(self.rawValue, radix: 16)
        }
    }
}
