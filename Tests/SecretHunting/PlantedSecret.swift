import Foundation

/// A realistic secret that a test gives in a wrong place. The test then looks for it in all output.
package struct PlantedSecret: Sendable, CustomStringConvertible {
    /// Name of the kind of secret.
    package let name: String
    /// The text that is given in the wrong place.
    package let text: String
    /// Parts of the text that are secret and do not occur by chance.
    private let cores: [String]

    package var description: String { self.name }

    private init(_ name: String, _ text: String, cores: [String]) {
        self.name = name
        self.text = text
        self.cores = cores
    }

    private static let body = [
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgW8Qk3vJx0aLrT5nZ",
        "pYhC7uDeG2sVbM9iXoKfR4tW1qHjA6lNhRANCAATzUcE8yBgPw0vFdS5mJrQ2kXo",
        "L7aTnI3eZ9hYbV1uCqG6fKpWsDxM4tRjHcA8lNoEiUvB5yQg2PzSrF0wJmXk7d3T",
    ]
    /// Second and third line of a private key. The first line is the same for all keys.
    private static let bodyCores = Array(Self.body.dropFirst())

    /// One secret of each kind.
    package static let all: [PlantedSecret] = [
        .init(
            "a key in PEM",
            (["-----BEGIN PRIVATE KEY-----"] + Self.body + ["-----END PRIVATE KEY-----", ""]).joined(separator: "\n"),
            cores: Self.bodyCores),
        .init("a key without its first and last line", Self.body.joined(), cores: Self.bodyCores),
        .init("a token", "s3cr3tV7kQ0123456789abcdefXw", cores: ["s3cr3tV7kQ0123456789abcdefXw"]),
        .init(
            "a line of JAAS",
            #"org.apache.kafka.common.security.plain.PlainLoginModule required username="u5erZq81" password="pa55wQm3Jx9";"#,
            cores: ["u5erZq81", "pa55wQm3Jx9"]),
        .init("a header field", "authorization: Bearer h3adBv6Tn2cR8", cores: ["h3adBv6Tn2cR8"]),
        .init("a URL with a user", "http://u5erKp40:ur1pa55Lw7@127.0.0.1:9/", cores: ["u5erKp40", "ur1pa55Lw7"]),
    ]

    /// The form in which a text contains the secret: unchanged, only its beginning, as decimal bytes, as base64 or as
    /// hexadecimal digits. `nil` means that the text does not contain it.
    package func found(in text: String) -> String? {
        for core in self.cores {
            for (form, needle) in Self.forms(of: core) where text.contains(needle) { return form }
        }
        return nil
    }

    private static func forms(of core: String) -> [(form: String, needle: String)] {
        let bytes = Array(core.utf8.prefix(8))
        let hex = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let decimals = bytes.map { "\($0)" }
        var forms = [(form: "as it is", needle: String(core.prefix(8)))]
        for separator in [", ", " "] {
            forms.append(("as decimal bytes", decimals.joined(separator: separator)))
            forms.append(("in hexadecimal", hex.joined(separator: separator)))
        }
        forms.append(("in hexadecimal", hex.joined()))
        forms.append(("in hexadecimal", hex.joined().uppercased()))
        // Uses only the part of the base64 text that does not depend on the bytes before and after the secret.
        for (offset, dropped) in [(0, 0), (1, 2), (2, 3)] {
            let padded = [UInt8](repeating: 0x20, count: offset) + bytes
            let text = Data(padded).base64EncodedString()
            forms.append(("in base64", String(text.dropFirst(dropped).prefix(8))))
        }
        return forms
    }

    /// The planted secrets that a text contains, and their form.
    package static func found(in text: String) -> [String] {
        Self.all.compactMap { secret in secret.found(in: text).map { "\(secret.name) \($0)" } }
    }
}
