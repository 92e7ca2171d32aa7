package import KafkaLog
package import PushModel

extension OwnedRecord {
    /// The text of one of the worker's headers; `nil` if it is missing or null.
    package func text(of header: RecordHeader) -> String? {
        let name = header.text
        return self.headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
