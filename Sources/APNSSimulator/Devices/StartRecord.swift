/// One `start` that reached the phone of a push-to-start token: what a card came from. Its number, counted from 1, is that of the activity.
struct StartRecord {
    /// When it came, milliseconds since 1970.
    let atMillis: Int64
    /// `aps.timestamp`, seconds since 1970.
    let stampSeconds: Int64
    /// `apns-id`; zeros: not known.
    let messageID: (UInt64, UInt64)
    /// Index of the push-to-start token; of its successor when it was rotated.
    var token: Int32
    /// The start before it with this token; -1: none.
    let previous: Int32
    /// The card, as an index of devices; -1: it was over the budget, and no card came up.
    var card: Int32 = -1
    /// The newest update token of the card, as an index of tokens; -1: none.
    var updateToken: Int32 = -1
    /// Starts with this token in the hour ending with this one, itself included.
    let startsWithinHour: UInt16
}
