/// What the state of either side keeps for the way out: frames, and why no more leave.
struct SessionLine {
    var output = OutputBuffer()
    var encoder = HeaderEncoder()
    /// nghttp2 made a HEADERS frame and ours was written instead: the piece it gives next is to be dropped.
    var headersReplaced = false
    /// Serialising pauses when the output holds this much.
    var outputLimit = 0
    /// Why the session has failed; `nil`: it has not.
    var failure: String?

    var isFull: Bool { self.output.count >= self.outputLimit }

    mutating func free() {
        self.output.free()
        self.encoder.free()
    }
}
