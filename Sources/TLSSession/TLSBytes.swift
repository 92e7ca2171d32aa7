import COpenSSL

/// The buffers from which OpenSSL reads ciphertext and to which it writes ciphertext: the other end of a session's BIO.
/// The buffers are behind a pointer of their own, because OpenSSL's functions call back before they return.
struct TLSBytes {
    /// Maximum capacity that `output` keeps when it is emptied, bytes.
    static let capacityKeptMax = 1 << 20

    /// Received bytes that OpenSSL has not read yet. The pointer is set only during `TLSSession.receive`.
    var input: UnsafeRawBufferPointer?
    /// Bytes that OpenSSL wants to send to the peer.
    var output: [UInt8] = []
    /// Number of bytes at the front of `output` that were already taken.
    var outputTaken = 0

    /// The functions of a BIO that uses `TLSBytes`. OpenSSL's memory BIO would copy once more in each direction, and
    /// wipe its copy.
    ///
    /// `nonisolated(unsafe)`: the value is made once and never changes.
    nonisolated(unsafe) static let method: OpaquePointer = {
        let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bytes")!
        BIO_meth_set_read(method) { bio, buffer, byteCount in
            mailboat_BIO_clear_retry_flags(bio)
            guard let bytes = BIO_get_data(bio)?.assumingMemoryBound(to: TLSBytes.self), let buffer, byteCount > 0
            else { return 0 }
            guard let input = bytes.pointee.input, input.count > 0 else {
                mailboat_BIO_set_retry_read(bio)
                return -1
            }
            let count = min(input.count, Int(byteCount))
            UnsafeMutableRawPointer(buffer).copyMemory(from: input.baseAddress!, byteCount: count)
            bytes.pointee.input = UnsafeRawBufferPointer(rebasing: input[count...])
            return Int32(truncatingIfNeeded: count)
        }
        BIO_meth_set_write(method) { bio, buffer, byteCount in
            mailboat_BIO_clear_retry_flags(bio)
            guard let bytes = BIO_get_data(bio)?.assumingMemoryBound(to: TLSBytes.self), let buffer, byteCount > 0
            else { return 0 }
            bytes.pointee.output.append(contentsOf: UnsafeRawBufferPointer(start: buffer, count: Int(byteCount)))
            return byteCount
        }
        // FLUSH must succeed. All other commands only ask for features that this BIO does not have.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        BIO_meth_set_create(method) { bio in
            BIO_set_init(bio, 1)
            return 1
        }
        return method
    }()

    /// Number of bytes that wait to be sent.
    var outputByteCount: Int { self.output.count - self.outputTaken }

    mutating func forgetOutput() {
        self.outputTaken = 0
        if self.output.capacity > Self.capacityKeptMax {
            self.output = []
        } else {
            self.output.removeAll(keepingCapacity: true)
        }
    }
}
