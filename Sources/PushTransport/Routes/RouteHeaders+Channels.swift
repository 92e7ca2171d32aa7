import APNSProtocol
import HTTP2Session
import PushModel

/// Identifies the header template of a request other than a push to a phone.
struct ChannelTemplate: Hashable {
    var kind: RequestKind
    var app: UInt16
    /// Priority of a broadcast. For other requests it is always `.low`.
    var priority: PushPriority
}

/// Headers of broadcasts, and of requests that make, read, delete or list channels.
extension RouteHeaders {
    /// Submits a request other than a push to a phone. For a request about channels, the session keeps the channel's id
    /// and the body of the answer.
    mutating func submitAboutChannel(
        _ request: borrowing PushRequest, to session: HTTP2ClientSession, tag: UInt32
    ) -> HTTP2SubmitResult {
        let kind = request.kind
        let template = self.template(kind: kind, app: request.app, priority: request.priority)
        self.values.removeAll()
        if kind == .broadcast { self.values.append(decimal: request.expirationSeconds) }
        if ChannelRequest.namesChannel(kind) { self.values.append(request.target.span) }
        self.values.append(uuid: request.apnsID)
        guard kind != .broadcast else {
            return session.submit(template, values: self.values, body: request.body.span, tag: tag)
        }
        let keeping = HTTP2AnswerKeeping(
            fieldName: Array("\(BroadcastRequest.channelIDName)".utf8),
            bodyByteCountMax: ChannelRequest.answerByteCountMax(kind))
        let body = ChannelRequest.hasBody(kind) ? request.body : []
        return session.submit(template, values: self.values, body: body.span, tag: tag, keeping: keeping)
    }

    private mutating func template(kind: RequestKind, app: UInt16, priority: PushPriority) -> HTTP2HeaderTemplate {
        precondition(
            Int(app) < self.bundleIDs.count,
            "app \(app) of a request is not among the transport's \(self.bundleIDs.count)")
        let key = ChannelTemplate(kind: kind, app: app, priority: kind == .broadcast ? priority : .low)
        if let template = self.channelTemplates[key] { return template }
        let template = self.make(key, bundleID: self.bundleIDs[Int(app)])
        self.channelTemplates[key] = template
        return template
    }

    /// Makes a template. Its variable fields, in order: `apns-expiration` (broadcasts only), `apns-channel-id` (if a
    /// channel is named), `apns-request-id`. Apple wants the path never to be indexed, though all requests of an app
    /// have the same path here.
    private borrowing func make(_ key: ChannelTemplate, bundleID: String) -> HTTP2HeaderTemplate {
        let path =
            ChannelRequest.pathValue(key.kind, bundleID: bundleID) ?? BroadcastRequest.pathValue(bundleID: bundleID)
        var fields: [HTTP2Field] = [
            .fixed(":method", "\(ChannelRequest.method(key.kind) ?? DeviceRequest.method)"),
            .fixed(":scheme", "\(DeviceRequest.scheme)"),
            .fixed(":authority", self.authority),
            .fixed(":path", path, indexing: .never),
            .fixed("\(DeviceRequest.authorizationName)", self.authorization, indexing: .never),
        ]
        if key.kind == .broadcast {
            fields += [
                .fixed("\(DeviceRequest.pushTypeName)", "\(DeviceRequest.pushTypeValue)"),
                .fixed("\(DeviceRequest.priorityName)", "\(DeviceRequest.priorityValue(key.priority))"),
                .variable("\(DeviceRequest.expirationName)"),
            ]
        }
        if ChannelRequest.namesChannel(key.kind) { fields.append(.variable("\(BroadcastRequest.channelIDName)")) }
        fields.append(.variable("\(BroadcastRequest.requestIDName)"))
        return HTTP2HeaderTemplate(fields)
    }
}
