import PushModel

/// The story: what is published and what happens to phones, in order of time. The same seed and start give the same script.
struct Script: Sendable {
    /// Bundle ids of the three apps.
    static let pizza = "com.example.pizza"
    static let football = "com.example.football"
    static let adventure = "com.example.adventure"

    /// How long the story is as it is written, milliseconds. A script of another length is stretched.
    static let writtenMillis = 18_000

    private(set) var cues: [Cue] = []
    /// When the curtain rises, seconds since 1970: dates in the story count from here.
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
        // Cues of one moment keep the order in which they were written: a registration comes before its first update.
        self.cues = self.cues.enumerated()
            .sorted { ($0.element.atMillis, $0.offset) < ($1.element.atMillis, $1.offset) }
            .map(\.element)
    }

    /// Adds a cue at a time of the story as written.
    mutating func add(at writtenMillis: Int, _ action: Cue.Action) {
        self.cues.append(Cue(atMillis: writtenMillis * self.durationMillis / Self.writtenMillis, action: action))
    }

    /// When the cues are played that the story needs before it begins, milliseconds since the curtain rose.
    static let beforehandMillis = -60_000

    /// Adds a cue of what the story needs before it begins.
    mutating func addBeforehand(_ action: Cue.Action) {
        self.cues.append(Cue(atMillis: Self.beforehandMillis, action: action))
    }

    /// Adds a cue a number of milliseconds after another, whatever the story's length.
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

    /// Up to `millis`, evenly spread: nothing real happens on the dot.
    mutating func jitter(_ millis: Int) -> Int { Int.random(in: 0...millis, using: &self.random) }
}
