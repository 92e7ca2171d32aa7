import SecretHunting
import Testing

@testable import PushWorker

/// Tests of programs that are run to get a token.
struct TokenCommandTests {
    private static func shell(_ script: String) -> [String] { ["/bin/sh", "-c", script] }

    @Test func whatItSaysIsTaken() throws {
        #expect(try TokenCommand.run(["/bin/echo", "a token", "$HOME; `x`"]) == Array("a token $HOME; `x`\n".utf8))
        // The program is found by its name in the `PATH` of the environment.
        #expect(try TokenCommand.run(["echo", "a"]) == Array("a\n".utf8))
        // The program's standard error, and processes that it leaves behind, are ignored.
        #expect(
            try TokenCommand.run(Self.shell("echo no >&2; echo yes; sleep 600 >/dev/null &")) == Array("yes\n".utf8))
        #expect(try TokenCommand.run(Self.shell("cat")) == [], "nobody speaks to it")
        #expect(try TokenCommand.run(Self.shell("ls /proc/self/fd | wc -l")) == Array("4\n".utf8))
    }

    @Test(
        arguments: [
            (["/nowhere/sign"], .command, "cannot be run: there is no such program"),
            (["no-such-program-anywhere"], .command, "cannot be run: there is no such program"),
            (["/etc/passwd"], .command, "cannot be run"),
            (Self.shell("exit 3"), .command, "ended with status 3: run it as the worker's user"),
            (Self.shell("kill -9 $$"), .command, "was ended by signal 9"),
            (Self.shell("head -c 70000 /dev/zero"), .content, "wrote more than 65536 bytes"),
            (Self.shell("yes"), .content, "wrote more than 65536 bytes"),
        ] as [([String], TokenFault.Cause, String)])
    func whatGoesWrongIsNamed(words: [String], cause: TokenFault.Cause, text: String) {
        let fault = #expect(throws: TokenFault.self) { try TokenCommand.run(words) }
        #expect(fault?.cause == cause)
        #expect(fault?.text.contains(text) == true, "\(fault?.text ?? "")")
        #expect(fault?.text.contains("exit 3") == false, "arguments may be secrets")
    }

    /// A program that takes too long is killed with its children, even with those that keep its output open.
    @Test(arguments: [
        "sleep 600", "sleep 600 & sleep 600", "sleep 600 & exit 0", "trap '' TERM; while true; do sleep 1; done",
    ])
    func whatTakesTooLongIsKilled(script: String) {
        let fault = #expect(throws: TokenFault.self) { try TokenCommand.run(Self.shell(script), millisMax: 300) }
        #expect(fault?.cause == .timeout)
        #expect(fault?.text.contains("was killed") == true)
    }

    @Test func noFaultTellsWhatItSaid() {
        for secret in PlantedSecret.all {
            for words in [
                ["/bin/sh", "-c", "printf %s \"$1\"; printf %s \"$1\" >&2; exit 1", "sh", secret.text], [secret.text],
                ["/bin/echo", secret.text],
            ] {
                let source = TokenSource.command(words)
                do { _ = try source.ask(wallMillis: { TokenDocumentTests.now }) } catch {
                    #expect(secret.found(in: "\(error)") == nil, "\(secret): \(error)")
                }
                #expect(secret.found(in: "\(source) \(source.shown)") == nil)
            }
        }
    }
}
