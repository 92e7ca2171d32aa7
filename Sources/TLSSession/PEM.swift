import COpenSSL

/// Answers OpenSSL's request for a password with a refusal. Otherwise OpenSSL would ask for it on the terminal.
private func refusePassword(
    _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32, _: UnsafeMutableRawPointer?
) -> Int32 { -1 }

/// Reads and writes PEM. The caller frees the handles that are returned.
enum PEM {
    private static func reading<Result>(_ pem: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
        OpenSSLError.clear()
        return pem.withUnsafeBytes { bytes in
            guard bytes.count > 0, let count = Int32(exactly: bytes.count),
                let bio = BIO_new_mem_buf(bytes.baseAddress, count)
            else {
                return nil
            }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    static func readPrivateKey(_ pem: [UInt8]) -> OpaquePointer? {
        self.reading(pem) { PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }
    }

    static func readPublicKey(_ pem: [UInt8]) -> OpaquePointer? {
        self.reading(pem) { PEM_read_bio_PUBKEY($0, nil, refusePassword, nil) }
    }

    /// Reads all certificates of the text, in order. Returns none if one of them is broken.
    static func readCertificates(_ pem: [UInt8]) -> [OpaquePointer] {
        self.reading(pem) { bio in
            var certificates: [OpaquePointer] = []
            while let certificate = PEM_read_bio_X509(bio, nil, refusePassword, nil) {
                certificates.append(certificate)
            }
            // Reading ends with an error even at the end of the text. A reason other than `PEM_R_NO_START_LINE` means
            // that a certificate could not be read.
            let reason = OpenSSLError.take().reason
            guard reason == PEM_R_NO_START_LINE else {
                for certificate in certificates { X509_free(certificate) }
                return []
            }
            return certificates
        } ?? []
    }

    /// Returns the bytes that `write` puts into a memory BIO; `nil` if `write` fails.
    static func writing(_ write: (OpaquePointer) -> Int32) -> [UInt8]? {
        OpenSSLError.clear()
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { return nil }
        let count = BIO_ctrl_pending(bio)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            written = max(0, Int(BIO_read(bio, buffer.baseAddress, Int32(truncatingIfNeeded: count))))
        }
    }

    static func writePrivateKey(_ key: OpaquePointer) -> [UInt8]? {
        self.writing { PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    static func writePublicKey(_ key: OpaquePointer) -> [UInt8]? {
        self.writing { PEM_write_bio_PUBKEY($0, key) }
    }

    static func writeCertificate(_ certificate: OpaquePointer) -> [UInt8]? {
        self.writing { PEM_write_bio_X509($0, certificate) }
    }
}
