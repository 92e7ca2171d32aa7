import APNSProtocol
import Foundation
import PushTransport

/// What a request to `/channels` on the admin port asks for. Pure.
///
///     GET    /channels?app=…&environment=…        lists
///     POST   /channels                            makes one: {"app": …, "environment": …, "storage": "none" or "most-recent"}
///     GET    /channels/<id>?app=…&environment=…   shows one
///     DELETE /channels/<id>?app=…&environment=…   deletes one
///
/// `app` may be left out where there is only one, and `environment` where the app has only one.
struct ChannelCall: Equatable {
    enum Action: Equatable {
        case list
        case create(MessageStoragePolicy)
        case show(String)
        case delete(String)
    }

    /// Maximum number of bytes in the body of a request that makes a channel. A longer body is refused.
    static let bodyByteCountMax = 4_096

    var home: ChannelHome
    var action: Action

    /// Why a request cannot be carried out, with the HTTP status for it.
    struct Fault: Error, Equatable {
        var status: Int
        var text: String
    }

    private struct Creation: Decodable {
        var app: String?
        var environment: String?
        var storage: String?
    }

    /// - Parameters:
    ///   - path: percent-encoded, without the query. Its last part may be a channel's id, encoded or not.
    ///   - homes: the apps and environments that can be asked about.
    init(
        method: String, path: String, query: String, body: [UInt8], homes: [ChannelHome]
    ) throws(Fault) {
        let rest = path.dropFirst("/channels".count)
        guard !rest.isEmpty, rest != "/" else {
            switch method {
            case "GET", "HEAD":
                self.home = try Self.home(Self.fields(query), homes)
                self.action = .list
            case "POST":
                let creation = try Self.creation(body)
                self.home = try Self.home(["app": creation.app, "environment": creation.environment], homes)
                self.action = .create(try Self.policy(creation.storage))
            default: throw Fault(status: 405, text: "expected GET, which lists, or POST, which makes a channel")
            }
            return
        }
        guard rest.first == "/" else { throw Fault(status: 404, text: "expected /channels or /channels/<id>") }
        guard let channel = String(rest.dropFirst()).removingPercentEncoding, ChannelID.isValid(channel) else {
            throw Fault(
                status: 400, text: "the channel's id: expected what APNs gave, percent-encoded (%2F for /, %2B for +)")
        }
        self.home = try Self.home(Self.fields(query), homes)
        switch method {
        case "GET", "HEAD": self.action = .show(channel)
        case "DELETE": self.action = .delete(channel)
        default: throw Fault(status: 405, text: "expected GET, which shows a channel, or DELETE, which deletes it")
        }
    }

    private static func creation(_ body: [UInt8]) throws(Fault) -> Creation {
        guard let creation = try? JSONDecoder().decode(Creation.self, from: Data(body)) else {
            throw Fault(
                status: 400, text: "the body: expected JSON such as {\"app\":\"com.example\",\"storage\":\"none\"}")
        }
        return creation
    }

    private static func policy(_ name: String?) throws(Fault) -> MessageStoragePolicy {
        guard let policy = name.flatMap(MessageStoragePolicy.init(name:)) else {
            let given = name.map { "is \($0.prefix(40))" } ?? "is missing"
            throw Fault(
                status: 400,
                text: "storage \(given): expected none, or most-recent, which keeps one message for phones that are off"
            )
        }
        return policy
    }

    private static func home(_ fields: [String: String?], _ homes: [ChannelHome]) throws(Fault) -> ChannelHome {
        do throws(ChannelHomeFault) {
            return try ChannelDesk.home(
                among: homes, app: fields["app"] ?? nil, environment: fields["environment"] ?? nil)
        } catch {
            throw Fault(status: 400, text: "\(error.field) \(error.detail)")
        }
    }

    private static func fields(_ query: String) throws(Fault) -> [String: String?] {
        var fields: [String: String?] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard ["app", "environment"].contains(name), parts.count == 2, fields[name] == nil else {
                throw Fault(status: 400, text: "the query: expected app=… and environment=…, each once at most")
            }
            fields[name] = String(parts[1]).removingPercentEncoding
        }
        return fields
    }
}
