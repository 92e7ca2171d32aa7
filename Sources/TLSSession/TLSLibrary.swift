import COpenSSL

/// The OpenSSL library of this process, which librdkafka also uses.
public enum TLSLibrary {
    /// Keeps OpenSSL usable until the process has ended. By default it frees itself in `exit`, while librdkafka's
    /// threads still talk to brokers. Over TLS, 2 of 296 commands ended by a segmentation fault instead of with their
    /// exit status. Must be called before anything uses TLS.
    public static func outliveExit() { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}
