package import KafkaLog
package import PushModel

extension OwnedRecord {
    /// What a header of the worker's says; `nil`: it is not there, or null.
    package func text(of header: RecordHeader) -> String? {
        let name = header.text
        return self.headers.first { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
