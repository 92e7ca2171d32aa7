import Testing

@testable import Redaction

struct ShownTextTests {
    /// A private key in the usual format. It was made for this test, and is used nowhere.
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTk1WvtAyJqcKAiDz
        ArEUg7d4J/tW5fhXC3X6eG7eV0yhRANCAAQlFqwertzuiopasdfghjklyxcvbnm1
        -----END PRIVATE KEY-----
        """
    static let secrets = [
        key, key.split(separator: "\n").dropFirst().dropLast().joined(), "s3cr3t-0123456789abcdef",
        "0123456789abcdef0123456789abcdef", #"x required username="u" password="s3cr3t";"#,
        "authorization: Bearer s3cr3t", "http://u:s3cr3t@127.0.0.1:9/",
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJURUFNMTIzNDU2In0.c2ln",
        "u:s3cr3t@broker:9092", "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAgGBgcGBQg",
    ]

    @Test(arguments: secrets) func whatLooksLikeASecretIsShownByNone(secret: String) {
        #expect(ShownText.path(secret) == nil && ShownText.file(secret) == nil)
        #expect(!ShownText.isName(secret))
        let pieces = (0...secret.count - 6).map { secret.dropFirst($0).prefix(6) }
        for shown in [
            ShownText.unknownName, ShownText.withheld, ShownText.notPath, ShownText.closed,
            ShownText.name, ShownText.addresses,
        ] {
            let said = shown(secret)
            #expect(!pieces.contains { said.contains($0) }, "\(said)")
        }
    }

    @Test(arguments: [
        "/etc/mailboat/AuthKey_ABC123DEFG.p8", "AuthKey_ABCDE12345.p8", "./token", "../keys", "~/key.pem", "keys/token",
        "mailboat.yaml", "/var/run/secrets/kubernetes.io/serviceaccount/token", "/nowhere", "/keys/my keys/a.p8",
        "/var/lib/kubelet/pods/123e4567-e89b-12d3-a456-426614174000/volumes/kubernetes.io~secret/token",
    ])
    func whatLooksLikeAPathIsShown(path: String) { #expect(ShownText.path(path) == path) }

    @Test(arguments: [
        ("nofile", true), ("events-2", true), ("a.b", true), ("my events", false), ("s3cr3t-0123456789abcdef", false),
    ])
    func aPlainWordIsShownWhereNoSecretIsExpected(text: String, isShown: Bool) {
        #expect((ShownText.file(text) != nil) == isShown)
    }

    @Test func whatIsThereIsAPath() throws {
        #expect(ShownText.path("hush") == nil)
        // `.` is the directory that the test runs in, so it exists and is shown.
        #expect(ShownText.path(".") == ".")
    }

    @Test(arguments: [
        ("hunter2", "\"hunter2\""), ("5", "\"5\""), ("", "\"\""), ("a b", "a text of 3 characters"),
        ("a=b", "a text of 3 characters"), ("BEGIN", "a text of 5 characters"),
        ("0123456789012345678901234", "a text of 25 characters"),
    ])
    func aWrongNumberIsShownIfItIsShort(value: String, shown: String) { #expect(ShownText.closed(value) == shown) }

    @Test(arguments: [
        ("sasl.pasword", true), ("kafka.grup", true), ("MAILBOAT_PORT_9464_TCP_ADDR", true), ("s3cr3t", false),
        ("a b", false), ("", false), ("abcdefghijklmnopqrstuvwxyz", false),
    ])
    func aNameThatNobodyKnowsIsShownIfItLooksLikeOne(name: String, isShown: Bool) {
        #expect((ShownText.unknownName(name) == name) == isShown)
    }

    @Test(arguments: [
        ("localhost:9092", true), ("b-1.demo.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098,[::1]:9092", true),
        ("SASL_SSL://broker:9092", true), ("u:s3cr3t@broker:9092", false), ("s3cr3t-0123456789abcdef", false),
    ])
    func brokersAreShownWithoutUsers(text: String, isShown: Bool) {
        #expect((ShownText.addresses(text) == text) == isShown)
    }

    @Test(arguments: [
        (secrets[0], "this is a private key, not its path"),
        (secrets[1], "this is the content of a key, not its path"),
        ("authorization: Bearer s3cr3t", "this is a header field, not its path"),
        ("hush", "this is a text of 4 characters that does not look like a path, and no file has that name"),
    ])
    func whatWasMeantIsSaid(text: String, said: String) { #expect(ShownText.notPath(text) == said) }

    /// Tests how base64 of keys begins: P-256 and RSA, Ed25519, SEC 1, a public key of P-256.
    @Test(arguments: [
        ("MIGHAgEA", true), ("MC4CAQAw", true), ("MHcCAQEE", true), ("MFkwEwYH", true),
        ("MediaPushWorkersOf", false), ("MEDIAPUSH", false), ("NHcCAQEE", false),
    ])
    func keysOfAllKindsAreKnown(start: String, isKey: Bool) {
        #expect(SecretShape.isContentOfKey(start + String(repeating: "A", count: 64)) == isKey)
        #expect(!SecretShape.isContentOfKey(start + String(repeating: "A", count: 63 - start.utf8.count)))
        #expect(!SecretShape.isContentOfKey(start + String(repeating: "-", count: 64)))
    }

    @Test func valuesAreStruckFromWhatOthersSay() {
        var values = WithheldValues()
        values.append("hush")
        values.append("hush-hush")
        values.append("a")
        values.append("first line\nsecond line")
        #expect(values.struck(from: "a hush-hush, hush and second line!") == "a ***, *** and ***!")
        #expect(!"\(values)".contains("hush"))
    }

    private struct Holder: Redacted { var secret = "hush" }
    private struct Outer { var holder = Holder() }

    @Test func nothingIsToldOfWhatIsUntold() {
        var dumped = ""
        dump(Outer(), to: &dumped)
        for text in ["\(Holder())", "\(Outer())", String(reflecting: Outer()), "\([Holder()])", dumped] {
            #expect(!text.contains("hush") && text.contains("Holder"))
        }
    }
}
