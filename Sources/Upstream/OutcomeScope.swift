import Foundation

/// What an outcome record tells of.
package enum OutcomeScope {
    private struct Head: Decodable { var offset: Int64? }

    /// It tells of one event, and names its source position. A record that names none tells of many.
    /// - Parameter value: of the record.
    package static func isOneEvent(_ value: [UInt8]) throws -> Bool {
        try JSONDecoder().decode(Head.self, from: Data(value)).offset != nil
    }
}
