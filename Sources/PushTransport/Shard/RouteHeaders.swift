import APNSProtocol
import HTTP2Session
import PushModel

/// The header templates of one route: one per app and priority, made when first needed and anew with each provider
/// token.
struct RouteHeaders {
    private let authority: String
    private let topics: [[UInt8]]
    private var authorization: [UInt8] = []
    private var templates: [HTTP2HeaderTemplate?]

    init(authority: String, bundleIDs: [String]) {
        self.authority = authority
        self.topics = bundleIDs.map { DeviceRequest.topicValue(bundleID: $0) }
        self.templates = Array(repeating: nil, count: 2 * bundleIDs.count)
    }

    /// Requests carry this `authorization` value from now on.
    mutating func use(authorization: [UInt8]) {
        self.authorization = authorization
        for index in self.templates.indices { self.templates[index] = nil }
    }

    /// The template whose variable fields are `:path`, `apns-expiration` and `apns-id`, in this order.
    mutating func template(app: UInt16, priority: PushPriority) -> HTTP2HeaderTemplate {
        precondition(
            Int(app) < self.topics.count, "app \(app) of a push is not among the transport's \(self.topics.count)")
        let index = 2 * Int(app) + (priority == .high ? 1 : 0)
        if let template = self.templates[index] { return template }
        let template = self.make(topic: self.topics[Int(app)], priority: priority)
        self.templates[index] = template
        return template
    }

    /// Values that seldom change may be indexed, those that change per push never are (Apple: "Sending notification
    /// requests to APNs").
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
