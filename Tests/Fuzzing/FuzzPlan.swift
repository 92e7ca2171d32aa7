import Foundation
import PushModel

/// Plays seeds of one target. A seed gives a batch of inputs, which depends only on the seed, the corpus and the
/// target.
public struct FuzzPlan {
    /// Number of inputs of one seed.
    public static let inputsPerSeed = 100

    /// A broken promise, and the input that broke it.
    public struct Failure: Equatable, CustomStringConvertible {
        public var target: String
        public var seed: UInt64
        /// Number of the input within its seed.
        public var number: Int
        public var complaint: String
        public var input: [UInt8]

        public var description: String {
            "\(self.target), seed \(self.seed), input \(self.number): \(self.complaint)\n  "
                + String(decoding: self.input.prefix(300), as: UTF8.self).debugDescription
        }
    }

    public let target: any FuzzTarget.Type
    public let corpus: [[UInt8]]
    private let mutator: Mutator

    /// Prepares a plan.
    /// - Parameter corpusFolder: folder with a subfolder of the target's name. The subfolder's files are read in the
    ///   order of their names.
    public init(_ target: any FuzzTarget.Type, corpusFolder: String) throws {
        self.target = target
        let folder = corpusFolder + "/" + target.name
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
        let files = try names.map { Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0))) }
        self.corpus = files + target.seeds
        self.mutator = Mutator(corpus: self.corpus, pieces: target.pieces)
    }

    /// Plays the unchanged inputs of the corpus and of `seeds`, to find earlier faults again.
    public func playCorpus() -> [Failure] {
        var reader = self.target.init()
        var random = SplitMix64(seed: 0)
        return self.corpus.enumerated().compactMap { number, input in
            reader.read(input, random: &random).map {
                Failure(target: self.target.name, seed: 0, number: number, complaint: "corpus: " + $0, input: input)
            }
        }
    }

    /// The first failure of a seed, or `nil`. `onInput` gets each input before it is read, because reading it may end
    /// the process.
    public func play(seed: UInt64, onInput: ([UInt8]) -> Void = { _ in }) -> Failure? {
        var reader = self.target.init()
        var random = SplitMix64(seed: seed)
        for number in 0..<Self.inputsPerSeed {
            let input = self.mutator.input(&random)
            onInput(input)
            if let complaint = reader.read(input, random: &random) {
                return Failure(
                    target: self.target.name, seed: seed, number: number, complaint: complaint, input: input)
            }
        }
        return nil
    }
}
