package import Foundation

/// An executable of this package.
package enum BuiltExecutable {
    /// Path where the build puts an executable: beside the executable that runs. The file need not exist.
    package static func besideThisOne(_ name: String) -> URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name)
    }
}
