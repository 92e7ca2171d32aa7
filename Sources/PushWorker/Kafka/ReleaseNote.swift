/// What the last commit of a partition that is given up says to the next owner: when this one had stopped sending. Pure.
///
/// It lies in the metadata of the commit of the first input topic, which every later commit of that position replaces. A new owner replaces it
/// at once, so that nobody takes it for the word of a later owner who could not say anything any more.
struct ReleaseNote: Equatable {
    /// By the wall clock of the worker that stopped, milliseconds since 1970.
    var wallMillis: Int64

    private static let prefix = "mailboat-released="

    init(wallMillis: Int64) { self.wallMillis = wallMillis }

    /// `nil`: the metadata is none, or somebody else's.
    init?(metadata: String?) {
        guard let metadata, metadata.hasPrefix(Self.prefix),
            let millis = Int64(metadata.dropFirst(Self.prefix.count)), millis >= 0
        else { return nil }
        self.wallMillis = millis
    }

    var metadata: String { Self.prefix + "\(self.wallMillis)" }
}
