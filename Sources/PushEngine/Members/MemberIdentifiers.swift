/// A member of an audience: an update token in its one ring, or a start token's membership in one of its rings. The
/// number names an element of `MemberTable`, and may be used again after `free`.
struct MemberID: Identifier { let rawValue: Int32 }

/// The members that one pass goes round, such as an audience's start members in one environment. The number names an
/// element of `MemberTable`.
struct RingID: Identifier { let rawValue: Int32 }

/// The kind of a member. All members of a ring have one kind.
enum MemberKind: UInt8 {
    /// An update token of one Live Activity. It is in one ring.
    case update
    /// A push-to-start token. It may be in many rings, and is a member of each.
    case start
}

/// Marks of a member. The user of the table gives them their meaning.
struct MemberFlags: OptionSet, Sendable {
    /// The marks, in bits 0 to 11; the table has no room for more.
    let rawValue: UInt16

    static var bitCount: Int { 12 }

    init(rawValue: UInt16) { self.rawValue = rawValue & (1 << Self.bitCount - 1) }

    /// Creates the mark of this bit, which is below `bitCount`.
    init(bit: Int) { self.init(rawValue: 1 << UInt16(bit)) }
}

/// A member and its position in its ring.
struct RingEntry: Equatable {
    let position: UInt64
    let member: MemberID
}
