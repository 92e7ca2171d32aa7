import Foundation
import LocalFiles
import PushTransport
import Redaction
import TLSSession

/// A server that issues tokens for a client's id and secret (RFC 6749 §4.4).
struct TokenEndpoint: Hashable, Sendable {
    /// The server's URL.
    var url: HTTPEndpoint
    /// The client id to send.
    var clientID: String
    /// The file that contains the client's secret. Read for each request.
    var secretFile: String
    /// The scope to request; `nil`: the server decides.
    var scope: String?
    /// A file of certificate authorities that are trusted instead of the system's.
    var caFile: String?

    /// Description of what `kafka.oauth.token-endpoint` accepts, completing "expected …".
    static let expected =
        "a URL such as https://login.example.com/oauth2/token, without a user; http only for this machine's own addresses"
    /// Size of the longest secret accepted, in bytes.
    private static let secretByteCountMax = 4_096

    /// Reads the endpoint's URL.
    /// - Returns: `nil` when `text` is not what is expected.
    static func url(_ text: String) -> HTTPEndpoint? {
        HTTPEndpoint(text).flatMap { $0.isSecure || $0.isLoopback ? $0 : nil }
    }

    /// Asks the server and returns the body of its answer. Blocks.
    func ask() throws(TokenFault) -> [UInt8] {
        let secret = try Self.secret(self.secretFile)
        let request = self.request(secret: secret)
        let tls = try self.tls()
        let answer: HTTPClientRequest.Answer
        do { answer = try HTTPClientConnection.ask(request, tls: tls) } catch {
            throw self.unreachable(error)
        }
        return try self.body(answer)
    }

    // MARK: The request

    func request(secret: String) -> HTTPClientRequest {
        let credentials = "\(Self.encoded(self.clientID)):\(Self.encoded(secret))"
        var body = "grant_type=client_credentials"
        if let scope = self.scope { body += "&scope=\(Self.encoded(scope))" }
        return HTTPClientRequest(
            endpoint: self.url, contentType: "application/x-www-form-urlencoded",
            fields: [
                ("accept", "application/json"),
                ("authorization", "Basic \(Data(credentials.utf8).base64EncodedString())"),
            ], body: Array(body.utf8))
    }

    /// The text in the form encoding (RFC 6749 §2.3.1 and appendix B). A space becomes `%20`, which all servers
    /// understand.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
            if isPlain {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// The secret in the file, without white space at both ends.
    static func secret(_ path: String) throws(TokenFault) -> String {
        func fault(_ text: String) -> TokenFault {
            TokenFault(cause: .file, setting: "kafka.oauth.client-secret-file", text: text)
        }
        let bytes: [UInt8]
        do throws(FileFailure) { bytes = try InputFile.read(path, byteCountMax: 2 * Self.secretByteCountMax) } catch {
            throw fault(error.description)
        }
        let content = bytes.withoutBlanksAround
        guard (1...Self.secretByteCountMax).contains(content.count),
            content.allSatisfy({ (0x20...0x7e).contains($0) })
        else {
            throw fault(
                "\(ShownText.path(path) ?? "the file") holds no client secret: expected one line of 1 to \(Self.secretByteCountMax) visible ASCII characters"
            )
        }
        return String(decoding: content, as: UTF8.self)
    }

    /// The TLS context for the server; `nil`: plain HTTP.
    func tls() throws(TokenFault) -> TLSContext? {
        guard self.url.isSecure else { return nil }
        do throws(TLSError) {
            return try TLSContext.client(
                roots: self.caFile.map { .file(path: $0) } ?? .system, applicationProtocols: [])
        } catch {
            throw TokenFault(cause: .file, setting: "kafka.oauth.ca-file", text: "\(error)")
        }
    }

    // MARK: The answer

    private func fault(_ cause: TokenFault.Cause, _ text: String) -> TokenFault {
        TokenFault(cause: cause, setting: "kafka.oauth.token-endpoint", text: "\(self.url.shown) \(text)")
    }

    private func unreachable(_ error: any Error) -> TokenFault {
        let text = ConnectError.text(error)
        if text.hasPrefix("no answer within") { return self.fault(.timeout, "gives \(text)") }
        let isUnknownAuthority =
            text.contains("certificate verify failed") || text.contains("unable to get local issuer")
            || text.contains("self-signed") || text.contains("self signed")
        return self.fault(
            .network,
            "cannot be asked: \(text)"
                + (isUnknownAuthority
                    ? ": kafka.oauth.ca-file must name a PEM file with the authority that signed its certificate" : ""))
    }

    /// The codes of RFC 6749 §5.2 and RFC 8707 §2, and what to do about each. Other words of the server are not shown.
    private static let remedies = [
        "invalid_request": "check kafka.oauth.scope",
        "invalid_client": "check kafka.oauth.client-id and the content of kafka.oauth.client-secret-file",
        "invalid_grant": "check kafka.oauth.client-id and the content of kafka.oauth.client-secret-file",
        "unauthorized_client": "the server must let this client use the grant client_credentials",
        "unsupported_grant_type": "the server does not offer the grant client_credentials: check the URL",
        "invalid_scope": "check kafka.oauth.scope",
        "invalid_target": "check kafka.oauth.scope",
    ]

    func body(_ answer: HTTPClientRequest.Answer) throws(TokenFault) -> [UInt8] {
        switch answer.status {
        case 200:
            guard !answer.isBodyCut else {
                throw self.fault(
                    .content,
                    "answers with more than \(HTTPClientRequest.answerByteCountMax) bytes, too many for a token")
            }
            return answer.body
        case 300...399:
            throw self.fault(
                .refused, "answers \(answer.status): redirects are not followed; name the final address")
        case 408, 425, 429, 500...:
            throw self.fault(.server, "answers \(answer.status); it is asked again")
        default:
            struct Refusal: Decodable { var error: String? }
            let code = (try? JSONDecoder().decode(Refusal.self, from: Data(answer.body)))?.error
            if let code, let remedy = Self.remedies[code] {
                throw self.fault(.refused, "answers \(answer.status) (\(code)): \(remedy)")
            }
            let remedy =
                switch answer.status {
                case 400: "check kafka.oauth.scope and the path of the URL"
                case 401, 403: "check kafka.oauth.client-id and the content of kafka.oauth.client-secret-file"
                default: "check the path of the URL"
                }
            throw self.fault(.refused, "answers \(answer.status): \(remedy)")
        }
    }
}

extension TokenEndpoint: Redacted {}
