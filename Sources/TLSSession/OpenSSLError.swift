import COpenSSL

/// Reads OpenSSL's error queue. Each thread has one, and errors stay in it until they are read. So the queue is cleared
/// before each call whose result is checked.
enum OpenSSLError {
    static func clear() { ERR_clear_error() }

    /// Returns the newest error and empties the queue. `reason` is 0 if the queue was empty.
    static func take() -> (reason: Int32, text: String) {
        let code = ERR_peek_last_error()
        defer { ERR_clear_error() }
        guard code != 0 else { return (0, "no reason given") }
        let reason = ERR_GET_REASON(code)
        guard let text = ERR_reason_error_string(code) else { return (reason, "error \(code)") }
        return (reason, String(cString: text))
    }

    /// Makes an error whose text ends with OpenSSL's own reason.
    static func make(_ kind: TLSError.Kind, _ what: String) -> TLSError {
        TLSError(kind: kind, detail: what + ": " + Self.take().text)
    }
}
