import Glibc

/// Where the program `dewpoint-supervisor` is.
enum SupervisorProgram {
    private static let name = "dewpoint-supervisor"
    /// Beside the directory of the program, as the package installs it; and beside it, where it is built.
    private static let places = ["../libexec/dewpoint/\(name)", name]
    /// For tests, and for who builds it himself.
    private static let variable = "DEWPOINT_SUPERVISOR_PROGRAM"

    /// - Returns: `nil` when it is not installed.
    static func find() -> String? {
        let chosen = getenv(variable).map { String(cString: $0) }
        return (chosen.map { [$0] } ?? places.map { "\(directory)/\($0)" }).first { access($0, X_OK) == 0 }
    }

    /// That of this program.
    private static var directory: String {
        var own = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &own, own.count)
        let parts = own.prefix(max(count, 0)).split(separator: UInt8(ascii: "/")).dropLast()
        return "/" + parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
    }
}
