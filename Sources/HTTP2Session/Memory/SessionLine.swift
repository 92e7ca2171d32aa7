/// The output part of either side's state: frames, and why no more leave.
struct SessionLine {
    var output = OutputBuffer()
    var encoder = HeaderEncoder()
    /// Whether nghttp2 made a HEADERS frame and ours was written instead: the next piece from nghttp2 must be dropped.
    var headersReplaced = false
    /// Number of bytes of output at which serialising pauses.
    var outputLimit = 0
    /// Why the session has failed; `nil` if it has not.
    var failure: String?

    var isFull: Bool { self.output.count >= self.outputLimit }

    mutating func free() {
        self.output.free()
        self.encoder.free()
    }
}
