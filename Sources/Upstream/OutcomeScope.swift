import Foundation

/// What an outcome record is about.
package enum OutcomeScope {
    private struct Head: Decodable { var offset: Int64? }

    /// Whether the record is about one event, whose source position it names. A record without a position is about many
    /// phones.
    /// - Parameter value: the record's value.
    package static func isOneEvent(_ value: [UInt8]) throws -> Bool {
        try JSONDecoder().decode(Head.self, from: Data(value)).offset != nil
    }
}
