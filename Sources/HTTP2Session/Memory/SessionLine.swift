/// The part of a session's state that both sides need: output, header encoder and failure.
struct SessionLine {
    var output = OutputBuffer()
    var encoder = HeaderEncoder()
    /// Whether our HEADERS frame was written in place of nghttp2's. The next piece from nghttp2 is then its own frame,
    /// and must be dropped.
    var headersReplaced = false
    /// Number of bytes of output at which serialising stops for now.
    var outputLimit = 0
    /// Why the session has failed; `nil` if it has not.
    var failure: String?

    var isFull: Bool { self.output.count >= self.outputLimit }

    mutating func free() {
        self.output.free()
        self.encoder.free()
    }
}
