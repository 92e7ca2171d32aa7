/// Which release this is.
public enum MailboatVersion {
    /// The one place where it stands: packages, the image, the SBOM and `/metrics` take it from here, and `.ci/check-deploy.py` compares what has to repeat it.
    public static let current = "0.9.0"
}
