/// One `start` that reached the phone of a push-to-start token: the origin of a card. The number of the record, counted
/// from 1, is the activity's number.
struct StartRecord {
    /// When the start arrived, milliseconds since 1970.
    let atMillis: Int64
    /// `aps.timestamp`, seconds since 1970.
    let stampSeconds: Int64
    /// `apns-id`; zeros if unknown.
    let messageID: (UInt64, UInt64)
    /// Index of the push-to-start token, or of its successor if it was rotated.
    var token: Int32
    /// The previous start with this token; -1 for none.
    let previous: Int32
    /// Device index of the card; -1 if the start was over the budget and put up no card.
    var card: Int32 = -1
    /// Token index of the card's newest update token; -1 for none.
    var updateToken: Int32 = -1
    /// Number of starts with this token in the hour that ends with this start, including this start.
    let startsWithinHour: UInt16
}
