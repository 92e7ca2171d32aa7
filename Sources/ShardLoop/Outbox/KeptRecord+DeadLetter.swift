import PushEngine
import PushModel

/// Makes a dead letter smaller, or adds a key, when Kafka has refused the dead letter.
extension KeptRecord {
    /// Maximum number of bytes of the key in the header of a shrunk dead letter.
    static let keyByteCountMax = 256
    private static let reasonByteCountMax = 512

    /// Number of bytes of key, value and headers.
    var byteCount: Int {
        self.headers.reduce((self.key?.count ?? 0) + (self.value?.count ?? 0)) { $0 + $1.name.count + $1.value.count }
    }

    func header(_ header: RecordHeader) -> [UInt8]? {
        let name = header.text.utf8
        return self.headers.first { $0.name.elementsEqual(name) }?.value
    }

    /// Whether the record is an event on its way to its own partition. Messages between workers are not.
    var isForwardedEvent: Bool { self.topic == .routed && self.header(.kind) == nil && self.header(.topic) != nil }

    /// Whether the record is a dead letter whose value has already been left out.
    var isShrunk: Bool { self.header(.valueBytes) != nil }

    /// The position where the record's event was first stored, as text; empty if the headers do not contain one.
    var sourceText: String {
        guard let topic = self.header(.topic), let partition = self.header(.partition),
            let offset = self.header(.offset)
        else { return "" }
        return [topic, partition, offset].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }

    /// The record with its source position as key, because a compacted topic refuses records without a key.
    func keyedBySource() -> KeptRecord {
        var keyed = self
        keyed.key = Array(self.sourceText.utf8)
        return keyed
    }

    /// The dead letter without its value. Its headers have the value's size, the reason, and the source position. A
    /// long key moves into a header, shortened. The value becomes empty instead of null, because null would remove the
    /// key's record from a compacted topic.
    func shrunk() -> KeptRecord {
        var small = self
        small.headers = self.headers.compactMap { header in
            guard header.name.starts(with: RecordHeader.prefix.utf8) else { return nil }
            return (header.name, Array(header.value.prefix(Self.reasonByteCountMax)))
        }
        small.add(.valueBytes, "\(self.value?.count ?? 0)")
        if let key = self.key, key.count > Self.keyByteCountMax {
            small.headers.append((Array(RecordHeader.keyPrefix.text.utf8), Array(key.prefix(Self.keyByteCountMax))))
            small.add(.keyBytes, "\(key.count)")
            small.key = Array(self.sourceText.utf8)
        }
        small.value = []
        return small
    }

    private mutating func add(_ header: RecordHeader, _ text: String) {
        self.headers.append((Array(header.text.utf8), Array(text.utf8)))
    }
}
