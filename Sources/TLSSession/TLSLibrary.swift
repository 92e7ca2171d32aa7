import COpenSSL

/// OpenSSL as a library of this process, which librdkafka uses too.
public enum TLSLibrary {
    /// Keeps OpenSSL whole until the process is gone. By default it frees itself in `exit`, while librdkafka's threads still speak to brokers:
    /// over TLS, 2 of 296 commands ended by a segmentation fault instead of with their exit status. To be called before anything uses TLS.
    public static func outliveExit() { OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) }
}
