import PushModel

/// Which kind of thing a slot is about; part of its identity. Audiences get their own.
enum SlotKind: UInt8, CaseIterable {
    case activity = 1
    /// A broadcast channel: its id is its token.
    case channel = 2

    /// What an event with this target is about.
    init(of target: EventTarget) { self = target == .channel ? .channel : .activity }
}

/// The identity of a slot: one thing of one app. Borrows the bytes of the id.
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
