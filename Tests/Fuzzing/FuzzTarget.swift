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
    mutating func read(_ input: [UInt8], random: inout FuzzRandom) -> String?
}

extension FuzzTarget {
    public static var seeds: [[UInt8]] { [] }
}

/// All there are.
public enum FuzzTargets {
    public static var all: [any FuzzTarget.Type] {
        [EventTarget.self, StateTarget.self, AnswerTarget.self, HTTP2Target.self, ConfigurationTarget.self]
    }

    public static func named(_ name: String) -> (any FuzzTarget.Type)? { Self.all.first { $0.name == name } }
}

/// A small generator with one word of state (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
public struct FuzzRandom: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { self.state = seed }

    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    public mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(max(1, bound))) }
    public mutating func oneOf<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }
}
