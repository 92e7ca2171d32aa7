/// The version of this release.
public enum MailboatVersion {
    /// The only definition of the version. Packages, the image, the SBOM and `/metrics` read it here, and
    /// `.ci/check-deploy.py` compares the files that must repeat it.
    public static let current = "0.9.0"
}
