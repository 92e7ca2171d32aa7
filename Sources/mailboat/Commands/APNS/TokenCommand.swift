import APNSProtocol
import ArgumentParser
import CommandSupport
import Foundation
import PushTransport
import PushWorker
import Redaction
import TLSSession

/// `mailboat token`.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a provider token (JWT), for pushing with curl.",
        discussion: """
            Signs with the app's key. The token is the only line on standard output; its life and a curl command are written to standard \
            error. Anyone who has the token can push to every app of the key until it expires: do not paste it anywhere.

            Apple wants at least 20 minutes between two tokens of a key (TooManyProviderTokenUpdates), and workers sign their own: use one \
            token until it expires.

            Exit status: 0, 1 when the key cannot be used, 64 when the command line is wrong.

            EXAMPLES
              TOKEN=$(mailboat token --config mailboat.yaml)
              mailboat token --config mailboat.yaml --app com.example.pizza \\
                --environment development
            """)

    @OptionGroup var access: ProviderAccess

    func run() throws {
        let (bundleID, route) = try self.access.pushRoute()
        let token = try SignedToken(route.key)
        guard let text = token.text else {
            throw CommandFailure("the key makes no bearer token: this should not happen")
        }
        StandardOutput.printAlways(text)
        let nowMillis = Int64(Date().timeIntervalSince1970 * 1_000)
        for line in Self.explanation(token, bundleID: bundleID, route: route, nowMillis: nowMillis) {
            StandardError.print(Advice.naming(settings: self.access.config, in: line))
        }
    }

    /// The lines on standard error: how long the token is good, and how to push with it. They hold no token.
    static func explanation(
        _ token: SignedToken, bundleID: String, route: PlannedRoute, nowMillis: Int64
    ) -> [String] {
        let until = token.issuedAtSeconds + ProviderTokenClaims.ageSecondsMax
        var curl = ["curl -v --http2"]
        if case .file(let path) = route.trustRoots, ShownText.path(path) != nil { curl.append("--cacert \(path)") }
        curl += [
            "-H \"authorization: bearer $TOKEN\"",
            "-H 'apns-topic: \(String(decoding: DeviceRequest.topicValue(bundleID: bundleID), as: UTF8.self))'",
            "-H 'apns-push-type: liveactivity' -H 'apns-priority: 10'",
            "-d '{\"aps\":{\"timestamp\":\(token.issuedAtSeconds),\"event\":\"update\",\"content-state\":{}}}'",
            "https://\(route.host)\(route.port == APNSHost.port ? "" : ":\(route.port)")/3/device/$DEVICE",
        ]
        // Each part is a line of its own, because a line end within a text would be escaped.
        let lines = curl.enumerated().map { index, part in
            (index == 0 ? "" : "  ") + part + (index == curl.count - 1 ? "" : " \\")
        }
        return [
            "key \(token.keyID) of team \(route.key.teamID); good until \(MomentText.moment(millis: until * 1_000, nowMillis: nowMillis))",
            "TOKEN=$(mailboat token --config FILE)",
            "DEVICE=80e0a1b2  # the activity's token",
        ] + lines
    }
}

extension SignedToken {
    /// The token without the word `bearer`. A secret.
    var text: String? {
        let prefix = Array("bearer ".utf8)
        guard self.authorization.starts(with: prefix) else { return nil }
        return String(decoding: self.authorization.dropFirst(prefix.count), as: UTF8.self)
    }
}
