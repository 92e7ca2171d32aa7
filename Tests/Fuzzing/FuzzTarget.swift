public import PushModel

/// Code that reads bytes from strangers. It must survive any input without a trap or a hang, and its results must keep
/// its promises.
public protocol FuzzTarget {
    /// Name of the target for `make fuzz`, and of the target's folder in the corpus.
    static var name: String { get }
    /// Valid inputs that are not stored in the corpus, for example because the present code makes them.
    static var seeds: [[UInt8]] { get }
    /// Words and signs with a meaning for the reader. Mutations insert them.
    static var pieces: [[UInt8]] { get }

    init()
    /// Reads one input.
    /// - Returns: the promise that was broken, or `nil` when all is well.
    mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String?
}

extension FuzzTarget {
    public static var seeds: [[UInt8]] { [] }
}

/// All fuzz targets.
public enum FuzzTargets {
    public static var all: [any FuzzTarget.Type] {
        [
            EventTarget.self, StateTarget.self, AnswerTarget.self, HTTP2Target.self, KafkaTarget.self,
            ProxyTarget.self, ConfigurationTarget.self,
        ]
    }

    public static func named(_ name: String) -> (any FuzzTarget.Type)? { Self.all.first { $0.name == name } }
}

extension SplitMix64 {
    public mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(max(1, bound))) }
    public mutating func oneOf<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }
}
