import TLSSession

/// The provider key that a `POST /keys` registers.
enum KeyDocument {
    static func read(_ body: [UInt8]) throws(FlatDocument.Refusal) -> RegisteredKey {
        var document = try FlatDocument(body)
        let keyID = try Self.identifier("keyId", &document)
        let teamID = try Self.identifier("teamId", &document)
        guard let pem = try document.text("pem") else {
            throw FlatDocument.Refusal(text: "'pem' is missing: the public key, or the .p8, as text")
        }
        var environment: SimulatorConfiguration.Environment?
        if let name = try document.text("environment") {
            environment = SimulatorConfiguration.Environment(rawValue: name)
            guard environment != nil else {
                throw FlatDocument.Refusal(text: "'environment' must be production or development")
            }
        }
        let app = try document.text("app")
        try document.finish()
        do {
            return try RegisteredKey(
                keyID: keyID, teamID: teamID, pem: Array(pem.utf8), environment: environment,
                apps: app.map { [$0] } ?? [])
        } catch {
            throw FlatDocument.Refusal(text: "'pem': \(error)")
        }
    }

    private static func identifier(_ key: String, _ document: inout FlatDocument) throws(FlatDocument.Refusal) -> String
    {
        guard let text = try document.text(key), text.utf8.count == 10 else {
            throw FlatDocument.Refusal(text: "'\(key)' must be 10 characters")
        }
        return text
    }
}
