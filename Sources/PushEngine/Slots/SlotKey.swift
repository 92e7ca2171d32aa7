import PushModel

/// The kind of thing that a slot describes: part of the slot's identity.
enum SlotKind: UInt8, CaseIterable {
    case activity = 1
    /// A broadcast channel. Its id is its token.
    case channel = 2
    /// An audience at its owner. It sends versions to partitions.
    case audience = 3

    /// The kind that an event with this target is about.
    init(of target: EventTarget) {
        switch target {
        case .channel: self = .channel
        case .audience: self = .audience
        case .activity, .token, .startToken: self = .activity
        }
    }
}

/// The identity of a slot: one activity, channel or audience of one app. The key borrows the bytes of the id.
struct SlotKey: ~Escapable {
    var kind: SlotKind
    /// Index into `EngineConfiguration.apps`.
    var app: UInt16
    /// 1 to 256 bytes, UTF-8.
    var id: Span<UInt8>

    @_lifetime(copy id)
    init(kind: SlotKind = .activity, app: UInt16, id: Span<UInt8>) {
        self.kind = kind
        self.app = app
        self.id = id
    }
}
