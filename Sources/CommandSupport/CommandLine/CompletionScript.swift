/// Corrects the completion scripts that the parser makes: what `help` takes, and the order in bash.
enum CompletionScript {
    private static let bashOffersCommands = "# Offer subcommand completions\n        COMPREPLY+=("
    private static let zshListsCommands = "local -ar subcommands=("
    private static let fishIsAt = #"__mailboat_should_offer_completions_for_positional "mailboat"#

    /// The script with commands after `help`. Any other text stays as it is.
    static func mended(_ text: String) -> String {
        if text.hasPrefix("#!/bin/bash\n") { return Self.bash(text) ?? text }
        if text.hasPrefix("#compdef ") { return Self.zsh(text) ?? text }
        return text.hasPrefix("function __mailboat_") ? Self.fish(text) : text
    }

    /// Offers only commands until a dash is typed, because bash sorts what it offers and would put flags first.
    private static func bash(_ text: String) -> String? {
        guard let commands = Self.part(of: text, from: Self.bashOffersCommands, to: ")\n") else { return nil }
        return
            text
            // Without `compopt`, bash would add `/` to a command if a directory has the same name.
            .replacing(
                Self.bashOffersCommands,
                with: """
                    # Offer subcommand completions
                            [[ "${cur}" = -* ]] && return
                            compopt +o filenames 2>/dev/null
                            COMPREPLY=(
                    """
            )
            .replacing(
                "_help() {\n",
                with: """
                    _help() {
                        if [[ "${prev}" = help && "${cur}" != -* ]]; then
                            compopt +o filenames 2>/dev/null
                            COMPREPLY=(\(commands))
                            return
                        fi

                    """)
    }

    private static func zsh(_ text: String) -> String? {
        guard let commands = Self.part(of: text, from: Self.zshListsCommands, to: "\n        )\n") else { return nil }
        return text.replacing(
            """
            _help() {
                local -i ret=1
                local -ar arg_specs=(
                    '*:subcommands:'
            """,
            with: """
                _help() {
                    local -i ret=1
                    \(Self.zshListsCommands)\(commands)
                    )
                    local -ar arg_specs=(
                        '1:subcommand: _describe -V subcommand subcommands'
                """)
    }

    /// The script with each command's line repeated for the word after `help`.
    private static func fish(_ text: String) -> String {
        let commands = text.split(separator: "\n").filter { $0.contains(Self.fishIsAt + "\" -eq 1' -fa '") }
        let lines = commands.map { $0.replacing(Self.fishIsAt, with: Self.fishIsAt + " help") }
        return text + lines.map { "\n\($0)" }.joined()
    }

    /// The part of a text between the first `start` and the next `end`.
    private static func part(of text: String, from start: String, to end: String) -> Substring? {
        guard let start = text.firstRange(of: start)?.upperBound,
            let end = text[start...].firstRange(of: end)?.lowerBound
        else { return nil }
        return text[start..<end]
    }
}
