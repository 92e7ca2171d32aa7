import APNSProtocol
import HTTP2Session
import PushModel

/// The header fields of one route's requests. Each app and priority has a template, made when first needed and again
/// for each provider token. A request adds its own values. This file is about pushes to phones;
/// `RouteHeaders+Channels.swift` has the other requests.
struct RouteHeaders: ~Copyable {
    let authority: String
    private(set) var bundleIDs: [String]
    private var topics: [[UInt8]]
    private(set) var authorization: [UInt8] = []
    private var templates: [HTTP2HeaderTemplate?]
    /// Templates of requests other than pushes to phones.
    var channelTemplates: [ChannelTemplate: HTTP2HeaderTemplate] = [:]
    var values = HTTP2HeaderValues()

    init(authority: String, bundleIDs: [String]) {
        self.authority = authority
        self.bundleIDs = bundleIDs
        self.topics = bundleIDs.map { DeviceRequest.topicValue(bundleID: $0) }
        self.templates = Array(repeating: nil, count: 2 * bundleIDs.count)
    }

    /// Replaces the list of apps. The new list begins with the former apps.
    mutating func follow(bundleIDs: [String]) {
        self.bundleIDs = bundleIDs
        self.topics = bundleIDs.map { DeviceRequest.topicValue(bundleID: $0) }
        while self.templates.count < 2 * bundleIDs.count { self.templates.append(nil) }
    }

    /// Sets the `authorization` value of all further requests.
    mutating func use(authorization: [UInt8]) {
        self.authorization = authorization
        for index in self.templates.indices { self.templates[index] = nil }
        self.channelTemplates.removeAll(keepingCapacity: true)
    }

    /// Submits the request to a session. All steps are in this one call, because the runtime checks each access to a
    /// class's variable.
    mutating func submit(_ request: borrowing PushRequest, to session: HTTP2ClientSession, tag: UInt32)
        -> HTTP2SubmitResult
    {
        guard request.kind == .device else { return self.submitAboutChannel(request, to: session, tag: tag) }
        self.values.removeAll()
        self.values.appendPart(DeviceRequest.pathPrefix)
        self.values.appendPart(request.target.span)
        self.values.endValue()
        self.values.append(decimal: request.expirationSeconds)
        self.values.append(uuid: request.apnsID)
        return session.submit(
            self.template(app: request.app, priority: request.priority), values: self.values, body: request.body.span,
            tag: tag)
    }

    /// The template whose variable fields are `:path`, `apns-expiration` and `apns-id`, in this order. A Live Activity
    /// on a phone has only the priorities 10 and 5 (Apple: "Starting and updating Live Activities with ActivityKit push
    /// notifications"). So the lowest priority is sent as low.
    private mutating func template(app: UInt16, priority: PushPriority) -> HTTP2HeaderTemplate {
        precondition(
            Int(app) < self.topics.count, "app \(app) of a push is not among the transport's \(self.topics.count)")
        let index = 2 * Int(app) + (priority == .high ? 1 : 0)
        if let template = self.templates[index] { return template }
        let template = self.make(topic: self.topics[Int(app)], priority: priority == .high ? .high : .low)
        self.templates[index] = template
        return template
    }

    /// Makes a template. HPACK may index values that seldom change. Of values that change per push, it indexes at most
    /// the first, with the field's name (Apple: "Sending notification requests to APNs").
    private func make(topic: [UInt8], priority: PushPriority) -> HTTP2HeaderTemplate {
        HTTP2HeaderTemplate([
            .fixed(":method", "\(DeviceRequest.method)"),
            .fixed(":scheme", "\(DeviceRequest.scheme)"),
            .fixed(":authority", self.authority),
            .variable(":path"),
            .fixed("\(DeviceRequest.authorizationName)", self.authorization, indexing: .never),
            .fixed("\(DeviceRequest.topicName)", topic),
            .fixed("\(DeviceRequest.pushTypeName)", "\(DeviceRequest.pushTypeValue)"),
            .fixed("\(DeviceRequest.priorityName)", "\(DeviceRequest.priorityValue(priority))"),
            .variable("\(DeviceRequest.expirationName)"),
            .variable("\(DeviceRequest.idName)"),
        ])
    }
}
