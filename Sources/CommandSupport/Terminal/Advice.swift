import Redaction

/// What a command advises to do.
package enum Advice {
    /// The text, in which `--config FILE` becomes `--config` with the file's name, quoted for a shell.
    /// - Parameter path: path of the file; `nil`: none was given.
    package static func naming(settings path: String?, in text: String) -> String {
        guard let file = path.flatMap(ShownText.file) else { return text }
        return text.replacing("--config FILE", with: "--config \(ShellWord.quoted(file))")
    }
}
