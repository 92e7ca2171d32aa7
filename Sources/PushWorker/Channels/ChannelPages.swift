import APNSProtocol
import Foundation
import Logging
import NIOPosix
import PushTransport

/// The pages below `/channels` on the admin port. Only clients that know the token in `admin.channels-token-file` are
/// answered. The file is read for each request, so it may be changed at any time.
struct ChannelPages: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        var query: String
        /// The value of the `authorization` field.
        var authorization: String?
    }

    struct Answer: Sendable, Equatable {
        /// The HTTP status.
        var status: Int
        /// The body: JSON in one line.
        var body: String
        /// Whether the caller has to send a token.
        var asksForToken: Bool { self.status == 401 }
    }

    /// The desk that carries requests out; `nil`: nobody may ask.
    let desk: ChannelDesk?
    private let tokenFile: String
    private let logger: Logger

    /// Pages that answer 404 with a hint.
    static let off = ChannelPages(desk: nil, tokenFile: "", logger: Logger(label: "mailboat"))

    init(desk: ChannelDesk?, tokenFile: String, logger: Logger) {
        self.desk = desk
        self.tokenFile = tokenFile
        self.logger = logger
    }

    /// Limits for a caller who waits with an open connection.
    static var limits: ChannelClientLimits {
        var limits = ChannelClientLimits()
        limits.attemptsMax = 4
        limits.totalMillis = 20_000
        limits.connectionWaitMillis = 8_000
        limits.outstandingMax = 16
        return limits
    }

    /// - Parameter body: collects the body; called only for an authorised client.
    func answer(_ request: Request, body: () async throws -> [UInt8]) async throws -> Answer {
        guard let desk = self.desk else {
            return Self.fault(
                404, "off",
                "set admin.channels-token-file to a file with a secret token, and send it as 'authorization: Bearer …'")
        }
        guard await self.admits(request.authorization) else {
            return Self.fault(401, "unauthorized", "send 'authorization: Bearer' and the token of this worker")
        }
        let call: ChannelCall
        let bytes = try await body()
        do throws(ChannelCall.Fault) {
            call = try ChannelCall(
                method: request.method, path: request.path, query: request.query, body: bytes, homes: desk.homes)
        } catch {
            return Self.fault(error.status, "request-invalid", error.text)
        }
        do throws(ChannelFailure) {
            return try await self.carryOut(call, desk)
        } catch {
            self.logger.warning("a request about channels failed", metadata: ["cause": "\(error)"])
            let channel = error.channel.isEmpty ? nil : error.channel
            return Answer(
                status: Self.status(error.kind),
                body: Self.json(ChannelRecord(call.home, channel: channel, failure: error)))
        }
    }

    private func admits(_ authorization: String?) async -> Bool {
        let path = self.tokenFile
        do {
            let token = try await NIOThreadPool.singleton.runIfActive { try BearerToken.read(path: path) }
            return token.admits(authorization)
        } catch {
            self.logger.error("admin.channels-token-file cannot be used", metadata: ["cause": "\(error)"])
            return false
        }
    }

    private func carryOut(_ call: ChannelCall, _ desk: ChannelDesk) async throws(ChannelFailure) -> Answer {
        switch call.action {
        case .list:
            return Answer(status: 200, body: Self.json(ChannelList(call.home, try await desk.list(in: call.home))))
        case .show(let channel):
            let storage = try await desk.storagePolicy(of: channel, in: call.home)
            return Answer(status: 200, body: Self.json(ChannelRecord(call.home, channel: channel, storage: storage)))
        case .create(let storage):
            let channel = try await desk.create(storage, in: call.home)
            // If the caller has disconnected meanwhile, only the log names the channel.
            self.logger.notice(
                "a channel was made",
                metadata: ["channel": "\(channel)", "home": "\(call.home)", "storage": "\(storage.name)"])
            return Answer(status: 201, body: Self.json(ChannelRecord(call.home, channel: channel, storage: storage)))
        case .delete(let channel):
            try await desk.delete(channel, in: call.home)
            self.logger.notice(
                "a channel was deleted", metadata: ["channel": "\(channel)", "home": "\(call.home)"])
            return Answer(status: 200, body: Self.json(ChannelRecord(call.home, channel: channel, deleted: true)))
        }
    }

    /// The HTTP status for this kind of failure.
    static func status(_ kind: ChannelFailure.Kind) -> Int {
        switch kind {
        case .channelInvalid: 400
        case .notConfigured, .channelNotFound: 404
        case .featureNotEnabled, .limitReached: 409
        case .throttled: 429
        case .credentialsRefused, .unreadable, .refused: 502
        case .serverBusy, .unreachable, .overloaded, .closed: 503
        case .mayExist, .unanswered: 504
        }
    }

    private struct Fault: Encodable {
        struct Detail: Encodable {
            var kind: String
            var remedy: String
        }
        var error: Detail
    }

    private static func fault(_ status: Int, _ kind: String, _ remedy: String) -> Answer {
        Answer(status: status, body: Self.json(Fault(error: Fault.Detail(kind: kind, remedy: remedy))))
    }

    private static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and whole numbers can always be encoded. The fallback, an empty object, is JSON as well.
        return ((try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
    }
}
