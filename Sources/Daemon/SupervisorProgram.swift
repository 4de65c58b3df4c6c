import Glibc
import Linux

/// Where the program `dewpoint-supervisor` is.
enum SupervisorProgram {
    private static let name = "dewpoint-supervisor"
    /// Beside the directory of the program, as the package installs it; and beside it, where it is built.
    private static let places = ["../libexec/dewpoint/\(name)", name]
    /// For tests, and for who builds it himself.
    private static let variable = "DEWPOINT_SUPERVISOR_PROGRAM"

    /// - Returns: `nil` when it is not installed.
    static func find() -> String? {
        let chosen = getenv(variable).map { [String(cString: $0)] }
        return (chosen ?? places.map(OwnProgram.path(beside:))).first { access($0, X_OK) == 0 }
    }
}
