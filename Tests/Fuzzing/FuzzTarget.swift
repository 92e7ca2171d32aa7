public import PushModel

/// Something that reads bytes of strangers. It has to stand whatever comes: no trap, no hang, and what it says keeps its promises.
public protocol FuzzTarget {
    /// As `make fuzz` and the corpus's folder call it.
    static var name: String { get }
    /// Good inputs that no file of the corpus holds, for they are made by the code of today.
    static var seeds: [[UInt8]] { get }
    /// What mutations put in: the words and signs on which the reader turns.
    static var pieces: [[UInt8]] { get }

    init()
    /// Reads one input. The answer says what promise it broke; `nil` when all is well.
    mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String?
}

extension FuzzTarget {
    public static var seeds: [[UInt8]] { [] }
}

/// All there are.
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
