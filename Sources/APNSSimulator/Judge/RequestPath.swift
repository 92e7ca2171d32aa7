import APNSProtocol

/// The subject of a request, from its `:path`.
struct RequestPath {
    enum Resource {
        /// `/3/device/<token>`.
        case device
        /// `/4/broadcasts/apps/<bundle id>`.
        case broadcast
        /// `/1/apps/<bundle id>/channels`.
        case channels
        /// `/1/apps/<bundle id>/all-channels`.
        case allChannels
        /// A path unknown to APNs.
        case unknown
    }

    static let devicePrefix: StaticString = "/3/device/"
    static let broadcastPrefix: StaticString = "/4/broadcasts/apps/"
    static let appPrefix: StaticString = "/1/apps/"
    static let channelsSuffix: StaticString = "/channels"
    static let allChannelsSuffix: StaticString = "/all-channels"

    private(set) var resource: Resource
    /// The token or the bundle id, as a range of the path; may be empty.
    private(set) var name: Range<Int>

    init(_ path: Span<UInt8>) {
        self.resource = .unknown
        self.name = 0..<0
        if path.begins(with: Self.devicePrefix) {
            self.resource = .device
            self.name = Self.devicePrefix.utf8CodeUnitCount..<path.count
        } else if path.begins(with: Self.broadcastPrefix) {
            self.resource = .broadcast
            self.name = Self.broadcastPrefix.utf8CodeUnitCount..<path.count
        } else if path.begins(with: Self.appPrefix) {
            let start = Self.appPrefix.utf8CodeUnitCount
            let rest = path.extracting(start..<path.count)
            for (suffix, resource) in [
                (Self.channelsSuffix, Resource.channels), (Self.allChannelsSuffix, .allChannels),
            ]
            where rest.ends(with: suffix) {
                self.resource = resource
                self.name = start..<path.count - suffix.utf8CodeUnitCount
            }
        }
    }

    /// Whether the request is a broadcast or manages channels. The id of its answer is in `apns-request-id` then.
    var isAboutChannels: Bool {
        switch self.resource {
        case .device, .unknown: false
        case .broadcast, .channels, .allChannels: true
        }
    }

    /// The kind of the request; `nil` if the method does not fit this path.
    func kind(method: Span<UInt8>) -> RequestKind? {
        switch self.resource {
        case .device: method.equals("POST") ? .device : nil
        case .broadcast: method.equals("POST") ? .broadcast : nil
        case .allChannels: method.equals("GET") ? .listChannels : nil
        case .channels:
            if method.equals("POST") {
                .createChannel
            } else if method.equals("GET") {
                .readChannel
            } else {
                method.equals("DELETE") ? .deleteChannel : nil
            }
        case .unknown: nil
        }
    }
}

extension Span<UInt8> {
    fileprivate func begins(with text: StaticString) -> Bool {
        self.count >= text.utf8CodeUnitCount && self.extracting(0..<text.utf8CodeUnitCount).equals(text)
    }

    fileprivate func ends(with text: StaticString) -> Bool {
        self.count >= text.utf8CodeUnitCount
            && self.extracting(self.count - text.utf8CodeUnitCount..<self.count).equals(text)
    }
}
