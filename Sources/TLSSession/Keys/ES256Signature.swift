import COpenSSL

/// Converts an ECDSA signature on P-256 between two forms. OpenSSL uses DER; JWT uses r followed by s (RFC 7518 §3.4).
enum ES256Signature {
    /// Length of r and of s, bytes.
    static let numberByteCount = 32

    /// Converts DER to r and s, 64 bytes big-endian. Returns `nil` if `der` is not a signature, or r or s is longer
    /// than 256 bits.
    static func raw(der: [UInt8]) -> [UInt8]? {
        var next: UnsafePointer<UInt8>?
        return der.withUnsafeBufferPointer { bytes -> [UInt8]? in
            next = bytes.baseAddress
            guard bytes.count > 0, let signature = d2i_ECDSA_SIG(nil, &next, bytes.count) else { return nil }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * Self.numberByteCount)
            let written = raw.withUnsafeMutableBufferPointer { raw in
                BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, Int32(Self.numberByteCount))
                    == Self.numberByteCount
                    && BN_bn2binpad(
                        ECDSA_SIG_get0_s(signature), raw.baseAddress! + Self.numberByteCount,
                        Int32(Self.numberByteCount))
                        == Self.numberByteCount
            }
            return written ? raw : nil
        }
    }

    /// Converts r and s to DER. Returns `nil` unless `raw` has 64 bytes.
    static func der(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * Self.numberByteCount, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let set = raw.withUnsafeBufferPointer { raw -> Bool in
            let r = BN_bin2bn(raw.baseAddress, Int32(Self.numberByteCount), nil)
            let s = BN_bin2bn(raw.baseAddress! + Self.numberByteCount, Int32(Self.numberByteCount), nil)
            guard r != nil, s != nil, ECDSA_SIG_set0(signature, r, s) == 1 else {
                BN_free(r)
                BN_free(s)
                return false
            }
            return true
        }
        let byteCount = set ? Int(i2d_ECDSA_SIG(signature, nil)) : 0
        guard byteCount > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, written in
            var next = buffer.baseAddress
            written = max(0, Int(i2d_ECDSA_SIG(signature, &next)))
        }
    }
}
