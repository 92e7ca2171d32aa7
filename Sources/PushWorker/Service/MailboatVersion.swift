/// Which release this is.
public enum MailboatVersion {
    /// As in CHANGELOG.md; nothing is released yet.
    public static let current = "0.1.0-dev"
}
