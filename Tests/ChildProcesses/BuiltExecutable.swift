package import Foundation

/// An executable of this package.
package enum BuiltExecutable {
    /// Where the build puts it: in the directory of the executable that runs. It need not be there.
    package static func besideThisOne(_ name: String) -> URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name)
    }
}
