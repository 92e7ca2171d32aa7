import COpenSSL

/// The OpenSSL library of this process. librdkafka uses the same library.
public enum TLSLibrary {
    /// Keeps OpenSSL from freeing itself in `exit`. By default OpenSSL frees itself while librdkafka's threads still
    /// use TLS. In a test, 2 of 296 commands over TLS therefore ended with a segmentation fault. Call this before
    /// anything uses TLS.
    public static func outliveExit() { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}
