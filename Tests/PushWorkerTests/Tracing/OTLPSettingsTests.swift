import Testing

@testable import PushWorker

/// Tests of the settings that name a collector, and of the headers for it.
struct OTLPSettingsTests {
    @Test(arguments: [
        ("http://localhost:4318", false, "localhost", 4_318, "/v1/traces"),
        ("http://collector", false, "collector", 4_318, "/v1/traces"),
        ("http://collector/", false, "collector", 4_318, "/v1/traces"),
        ("https://otlp.example.com", true, "otlp.example.com", 443, "/v1/traces"),
        (
            "HTTPS://otlp.example.com:8443/otlp/v1/traces?tenant=a", true, "otlp.example.com", 8_443,
            "/otlp/v1/traces?tenant=a"
        ),
        ("http://[::1]:4318/v1/traces", false, "::1", 4_318, "/v1/traces"),
        ("http://10.0.0.7:80", false, "10.0.0.7", 80, "/v1/traces"),
    ])
    func aURLIsUnderstood(_ text: String, _ isSecure: Bool, _ host: String, _ port: Int, _ path: String) throws {
        let endpoint = try #require(HTTPEndpoint(collector: text))
        #expect(endpoint.isSecure == isSecure)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.path == path)
        #expect(!endpoint.shown.contains("tenant"))
    }

    @Test(arguments: [
        "", "localhost:4318", "grpc://collector:4317", "http://", "http://:4318", "http://a:0", "http://a:65536",
        "http://a:b", "http://a:1:2", "http://user:secret@collector", "http://a b", "http://a/#part", "http://a?x=1",
        "http://[::1", "http://[::1]x", "http://[nothing]", "http://é", "http://a:+80", "http://a\u{0}",
        "http://" + String(repeating: "a", count: 2_100),
    ])
    func anythingElseIsRefused(_ text: String) { #expect(HTTPEndpoint(collector: text) == nil) }

    @Test(arguments: [
        ("http://a:4318/otlp", "is http://a:4318/otlp/v1/traces meant?"), ("http://a:4318/x//", "/x/v1/traces meant?"),
        ("http://a:4318", "the server does not accept"), ("http://a/x/v1/traces?k=v", "the server does not accept"),
        ("http://a/x?k=v", "is http://a:4318/x/v1/traces meant?"),
    ])
    func aPathThatNobodyTakesTracesAtIsExplained(_ text: String, _ hint: String) throws {
        #expect(try #require(HTTPEndpoint(collector: text)).pathHint.contains(hint))
    }

    @Test func headerFieldsAreReadLineByLine() throws {
        let headers = try OTLPHeaders(
            Array("# of the vendor\n\nAuthorization:  Bearer a:b=c \r\nx-tenant: \tpizza\n".utf8))
        #expect(headers.fields.map(\.name) == ["authorization", "x-tenant"])
        #expect(headers.fields.map(\.value) == ["Bearer a:b=c", "pizza"])
    }

    @Test(arguments: [
        "no colon s3cret", ": s3cret", "a b: s3cret", "host: s3cret", "Content-Length: s3cret", "x: s3cret\u{1}",
        "x: s3creté", "é: s3cret", (0...32).map { "x-\($0): s3cret" }.joined(separator: "\n"),
    ])
    func aFaultSaysWhatIsWrongAndNoSecret(_ text: String) {
        do {
            _ = try OTLPHeaders(Array(text.utf8))
            Issue.record("taken: \(text)")
        } catch {
            #expect(error.description.contains("expected") || error.description.contains("ASCII"))
            #expect(!error.description.contains("s3cret"))
        }
    }

    @Test func aMissingFileIsNamed() {
        var configuration = WorkerConfiguration()
        configuration.tracing.headersFile = "/nowhere/at/all"
        let fault = configuration.fileFaults().first { $0.setting == "tracing.headers-file" }
        #expect(fault?.text.contains("/nowhere/at/all") == true)
    }
}
