import PushModel

/// The story: what is published and what happens to phones, in order of time. Equal seeds and starts give equal
/// scripts.
struct Script: Sendable {
    /// Bundle ids of the three apps.
    static let pizza = "com.example.pizza"
    static let football = "com.example.football"
    static let adventure = "com.example.adventure"

    /// Length of the story as written, in milliseconds. A script of another length is stretched.
    static let writtenMillis = 18_000

    private(set) var cues: [Cue] = []
    /// When the curtain rises, seconds since 1970. Dates in the story count from here.
    let startSeconds: Int64
    private let durationMillis: Int
    private var random: SplitMix64

    init(startSeconds: Int64, durationMillis: Int, fanCount: Int, seed: UInt64) {
        self.startSeconds = startSeconds
        self.durationMillis = durationMillis
        self.random = SplitMix64(seed: seed)
        self.addPizzaOrders(count: 150)
        self.addFootballMatch(fanCount: fanCount)
        self.addAdventureParty(heroCount: 40)
        self.addMishaps()
        // Cues of one moment keep the order in which they were written, because a registration precedes its first
        // update.
        self.cues = self.cues.enumerated()
            .sorted { ($0.element.atMillis, $0.offset) < ($1.element.atMillis, $1.offset) }
            .map(\.element)
    }

    /// Adds a cue at a time of the story as written.
    mutating func add(at writtenMillis: Int, _ action: Cue.Action) {
        self.cues.append(Cue(atMillis: writtenMillis * self.durationMillis / Self.writtenMillis, action: action))
    }

    /// Time of the cues that the story needs before it begins, in milliseconds since the curtain rose.
    static let beforehandMillis = -60_000

    /// Adds a cue that the story needs before it begins.
    mutating func addBeforehand(_ action: Cue.Action) {
        self.cues.append(Cue(atMillis: Self.beforehandMillis, action: action))
    }

    /// Adds a cue this many milliseconds after another, whatever the story's length.
    mutating func add(_ millis: Int, after writtenMillis: Int, _ action: Cue.Action) {
        self.cues.append(
            Cue(atMillis: writtenMillis * self.durationMillis / Self.writtenMillis + millis, action: action))
    }

    /// A device token of this story: 32 bytes in hex.
    mutating func token() -> String {
        var hex = ""
        for _ in 0..<4 {
            let word = String(self.random.next(), radix: 16)
            hex += String(repeating: "0", count: 16 - word.count) + word
        }
        return hex
    }

    /// A random delay up to `millis`, because real events are never on the dot.
    mutating func jitter(_ millis: Int) -> Int { Int.random(in: 0...millis, using: &self.random) }
}
