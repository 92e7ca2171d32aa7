import APNSSimulator
import DeviceModel

/// Requests about channels for tests.
extension Bench {
    static let app = "com.example.pizza"
    private static let requestID = "223e4567-e89b-42d3-a456-426614174000"

    func connectToManagement() async throws -> TestClient {
        try await TestClient.connect(
            port: self.simulator.managementPort ?? 0, authorityPEM: self.credentials.authorityPEM)
    }

    /// A valid broadcast to a channel that stores nothing.
    func broadcast(
        channel: String, body: String = Bodies.update(stamp: Bench.startSeconds), priority: Int = 5,
        expiration: Int64 = 0, changing: [String: String?] = [:], adding: [(String, String)] = []
    ) -> TestRequest {
        var fields = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/4/broadcasts/apps/\(Self.app)"), ("authorization", "bearer " + self.standardJWT),
            ("apns-channel-id", channel), ("apns-push-type", "liveactivity"), ("apns-priority", "\(priority)"),
            ("apns-expiration", "\(expiration)"), ("apns-request-id", Self.requestID),
        ]
        Self.change(&fields, changing)
        return TestRequest(fields: fields + adding, body: Array(body.utf8))
    }

    /// A request about channels. `channel` is `nil` if the request names none.
    func question(
        _ method: String, _ place: String = "channels", channel: String? = nil, body: String = "",
        changing: [String: String?] = [:], adding: [(String, String)] = []
    ) -> TestRequest {
        var fields = [
            (":method", method), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/1/apps/\(Self.app)/\(place)"), ("authorization", "bearer " + self.standardJWT),
            ("apns-request-id", Self.requestID),
        ]
        if let channel { fields.append(("apns-channel-id", channel)) }
        Self.change(&fields, changing)
        return TestRequest(fields: fields + adding, body: Array(body.utf8))
    }

    func creation(_ storage: Int = 0, changing: [String: String?] = [:]) -> TestRequest {
        self.question(
            "POST", body: #"{"message-storage-policy":\#(storage),"push-type":"LiveActivity"}"#, changing: changing)
    }
}
