import ArgumentParser
import ChildProcesses
import CommandSupport
import Foundation
import SecretHunting
import Testing

@testable import mailboat

/// Tests that no command repeats a secret that was given in place of an option's value. The commands and options come
/// from the parser's own description.
@Suite(.timeLimit(.minutes(10)))
struct SecretOptionsTests {
    private static func commands() throws -> [(path: [String], arguments: [CommandDescription.Argument])] {
        try #require(CommandDescription(of: Mailboat.self)).leaves.map { path, command in
            (path, (command.arguments ?? []).filter { $0.word.map { $0 != "--help" && $0 != "--version" } ?? true })
        }
    }

    /// Words that fill in a required argument that is not under test.
    private static func filler(_ argument: CommandDescription.Argument) -> [String] {
        guard !argument.isOptional else { return [] }
        let value = ["hex": "0a1b", "host:port,...": "127.0.0.1:1"][argument.valueName ?? ""] ?? "/nowhere/x.yaml"
        return argument.kind == "positional" ? ["key-1"] : argument.word.map { [$0, value] } ?? []
    }

    /// Message for a wrong command line. `nil` means that the command line is good and the command would run.
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
        // Each attempt takes the next secret in turn. Trying all secrets for each argument would take ten minutes.
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
                // Each argument is tried in only one of the ways to write an option. The ways take turns.
                for attempt in [attempts[turn / PlantedSecret.all.count % attempts.count]] {
                    guard let said = Self.said(path + attempt + others) else { continue }
                    faultCount += 1
                    #expect(
                        secret.found(in: said) == nil, "\(path) \(argument.word ?? "argument"), \(secret): \(said)")
                }
            }
            // The secret may also be in an unknown option or in a surplus word.
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

    /// No command shows the name of a file that it cannot use, if the name may be a secret. A command opens files only
    /// after its command line is found to be good. Three very different secrets take turns.
    @Test func noFileThatIsNamedWronglyTellsOfASecret() async throws {
        let secrets = [PlantedSecret.all[0], PlantedSecret.all[2], PlantedSecret.all[4]]
        let mailboat = BuiltExecutable.besideThisOne("mailboat")
        var turn = 0
        // Each run has its own working directory. A command may create a folder with the secret's name, and names of
        // existing paths are shown.
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
                // A command that is still running after ten seconds has accepted the name. It must not show it either.
                let said: String
                do {
                    let ended = try await EndedProcess.run(
                        mailboat, path + [argument.word ?? "", secret.text] + others + needsBrokers,
                        workingDirectory: workingDirectory, within: .seconds(10))
                    said = ended.output + ended.errors
                } catch let failure as CommandFailure {
                    said = failure.text.components(separatedBy: "; it said: ").dropFirst().joined()
                }
                let found = PlantedSecret.found(in: said)
                #expect(found.isEmpty, "\(path) \(argument.word ?? ""): \(found) \(said)")
            }
        }
        #expect(turn > 20)
    }
}
