import ArgumentParser
import Testing

@testable import CommandSupport
@testable import mailboat

/// Tests of the completion scripts. The program repairs the scripts that the parser generates, and an update of the
/// parser may break the repairs.
struct CompletionScriptTests {
    private static func script(_ shell: CompletionShell) -> String {
        CompletionScript.mended(Mailboat.completionScript(for: shell))
    }

    /// In bash, flags are offered only after a dash. bash sorts what it offers, and would show flags before all
    /// commands.
    @Test func bashOffersCommandsWithoutFlags() {
        let script = Self.script(.bash)
        let places = script.matches(of: #/# Offer subcommand completions\n +(.*)\n/#)
        #expect(places.count > 3)
        for place in places { #expect(place.output.1 == #"[[ "${cur}" = -* ]] && return"#) }
        #expect(!script.contains("COMPREPLY+=($(compgen -W 'dev"))
    }

    @Test(arguments: [
        (CompletionShell.bash, "COMPREPLY=($(compgen -W 'dev demo run "),
        (.zsh, "'dev:Show in the browser"), (.zsh, "'1:subcommand: _describe -V subcommand subcommands'"),
    ]) func helpOffersTheCommands(shell: CompletionShell, offer: String) throws {
        let function = #/\n_mailboat_help\(\) \{\n(?:.*\n)*?\}/#
        let body = try #require(Self.script(shell).firstMatch(of: function)?.output)
        #expect(body.contains(offer), "\(body)")
    }

    @Test func fishOffersTheCommandsAfterHelp() {
        let script = Self.script(.fish)
        for command in Mailboat.configuration.subcommands {
            let offer = #"_for_positional "mailboat help" -eq 1' -fa '\#(command._commandName)' -d '"#
            #expect(script.contains(offer), "\(offer)")
        }
    }
}
