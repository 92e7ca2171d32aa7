import TLSSession
import Testing

/// Tests of the message that names what a file contains instead of the expected key or certificate.
struct PEMContentTests {
    private static func block(_ label: String) -> String { "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n" }

    @Test(arguments: [
        ("", "nothing: it is empty"), (" \n\r\t", "nothing: it is empty"), ("hush", "no PEM"),
        (Self.block("CERTIFICATE"), "a certificate"), (Self.block("PUBLIC KEY"), "a public key"),
        (Self.block("PRIVATE KEY"), "a private key"), (Self.block("RSA PRIVATE KEY"), "an RSA private key"),
        (Self.block("ENCRYPTED PRIVATE KEY"), "a private key that is protected by a password"),
        ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "a private key that is protected by a password"),
        (Self.block("CERTIFICATE") + Self.block("PRIVATE KEY"), "a private key"),
        (Self.block("CERTIFICATE REQUEST"), "a certificate request"), (Self.block("HUSH"), "PEM of another kind"),
        ("0hush", "binary data, perhaps a key or certificate in DER"),
    ])
    func itsKindIsNamedAndNothingOfItIsShown(text: String, name: String) {
        #expect(PEMContent.found(in: Array(text.utf8)) == name)
    }

    @Test(arguments: [
        ("", "found nothing: it is empty"), (Self.block("CERTIFICATE"), "found a certificate"),
        (Self.block("PUBLIC KEY"), "found a public key"),
        (Self.block("PRIVATE KEY"), "found a private key that is damaged"),
    ])
    func aKeyThatIsNoneSaysWhatWasFound(text: String, end: String) {
        let error = #expect(throws: TLSError.self) { try ES256PrivateKey(pem: Array(text.utf8)) }
        #expect(
            error?.detail == "expected an unencrypted private key in PEM (-----BEGIN PRIVATE KEY-----), \(end)")
    }
}
