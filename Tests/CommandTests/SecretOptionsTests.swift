import ArgumentParser
import ChildProcesses
import CommandSupport
import Foundation
import SecretHunting
import Testing

@testable import mailboat

/// Tests that no command repeats a secret that is given instead of any option's value. The parser's own description
/// lists the commands and options.
@Suite(.timeLimit(.minutes(10)))
struct SecretOptionsTests {
    private static func commands() throws -> [(path: [String], arguments: [CommandDescription.Argument])] {
        try #require(CommandDescription(of: Mailboat.self)).leaves.map { path, command in
            (path, (command.arguments ?? []).filter { $0.word.map { $0 != "--help" && $0 != "--version" } ?? true })
        }
    }

    /// Words for an argument that is required but not under test.
    private static func filler(_ argument: CommandDescription.Argument) -> [String] {
        guard !argument.isOptional else { return [] }
        let value = ["hex": "0a1b", "host:port,...": "127.0.0.1:1"][argument.valueName ?? ""] ?? "/nowhere/x.yaml"
        return argument.kind == "positional" ? ["key-1"] : argument.word.map { [$0, value] } ?? []
    }

    /// Message of a command that ends at its command line. `nil` means that the command would run.
    private static func said(_ words: [String]) -> String? {
        do {
            _ = try Mailboat.parseAsRoot(words)
            return nil
        } catch {
            return CommandLineText(words).shown(Mailboat.fullMessage(for: error))
        }
    }

    @Test func noOptionTellsOfASecret() throws {
        let commands = try Self.commands()
        #expect(commands.count > 20)
        var faultCount = 0
        // Trying all secrets for each argument would take ten minutes, so they take turns.
        var turn = 0
        func nextSecret() -> PlantedSecret {
            turn += 1
            return PlantedSecret.all[turn % PlantedSecret.all.count]
        }
        for (path, arguments) in commands {
            // The parser is slow in a debug build, because it looks at all commands for each line. So only one argument
            // in four is tried.
            for (index, argument) in arguments.enumerated() where (index + path.count + turn) % 4 == 0 {
                let others = arguments.enumerated().filter { $0.offset != index }.flatMap { Self.filler($0.element) }
                let secret = nextSecret()
                var attempts: [[String]] = []
                if let word = argument.word {
                    attempts = [[word, secret.text], ["\(word)=\(secret.text)"], [word + secret.text]]
                    if word == "--property" {
                        attempts += [
                            ["-X", secret.text], ["-Xsasl.pasword=\(secret.text)"], ["-X", "x=\(secret.text)"],
                        ]
                    }
                } else {
                    attempts = [[secret.text]]
                }
                // The ways to write an option take turns, too.
                for attempt in [attempts[turn / PlantedSecret.all.count % attempts.count]] {
                    guard let said = Self.said(path + attempt + others) else { continue }
                    faultCount += 1
                    #expect(
                        secret.found(in: said) == nil, "\(path) \(argument.word ?? "argument"), \(secret): \(said)")
                }
            }
            // An unknown option and a surplus word may contain a secret, too.
            let secret = nextSecret()
            let attempts = [
                ["--key", secret.text], [secret.text, secret.text], ["--password=\(secret.text)"],
                ["--\(secret.text)"],
            ]
            for attempt in [attempts[turn % attempts.count]] {
                guard let said = Self.said(path + attempt) else { continue }
                #expect(secret.found(in: said) == nil, "\(path) \(attempt.count) words, \(secret): \(said)")
            }
        }
        #expect(faultCount > 20)
    }

    /// Files are read after the command line was found to be good. Two secrets that differ most take turns.
    @Test func noFileThatIsNamedWronglyTellsOfASecret() async throws {
        let secrets = [PlantedSecret.all[0], PlantedSecret.all[2], PlantedSecret.all[4]]
        let mailboat = BuiltExecutable.besideThisOne("mailboat")
        var turn = 0
        // A folder that a command writes to would be created under the secret's name. Then it is a path that exists,
        // and such paths are shown.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (path, arguments) in try Self.commands() {
            for (index, argument) in arguments.enumerated()
            where argument.word != nil && ["file", "dir", "directory"].contains(argument.valueName ?? "") {
                let others = arguments.enumerated().filter { $0.offset != index }.flatMap { Self.filler($0.element) }
                let secret = secrets[turn % secrets.count]
                turn += 1
                let needsBrokers =
                    argument.word == "--properties"
                    ? [] : arguments.contains { $0.word == "--bootstrap" } ? ["--bootstrap", "127.0.0.1:1"] : []
                let workingDirectory = folder.appendingPathComponent("\(turn)")
                try FileManager.default.createDirectory(at: workingDirectory, withIntermediateDirectories: true)
                // A command that does not end by itself has taken the secret and not shown it.
                let ended = try? await EndedProcess.run(
                    mailboat, path + [argument.word ?? "", secret.text] + others + needsBrokers,
                    workingDirectory: workingDirectory, within: .seconds(10))
                guard let ended else { continue }
                let found = PlantedSecret.found(in: ended.output + ended.errors)
                #expect(found.isEmpty, "\(path) \(argument.word ?? ""): \(found) \(ended.errors)")
            }
        }
        #expect(turn > 20)
    }
}
