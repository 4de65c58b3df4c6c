import Daemon
import Foundation

extension StateDirectory {
    /// The one in the default places that was last mounted at a directory.
    ///
    /// - Parameters:
    ///   - directory: Absolute, without symbolic links.
    ///   - command: What names another one with `--state`, for people.
    static func lastMounted(at directory: String, orNamedBy command: String) throws -> StateDirectory {
        let places = lastMounted(at: directory, environment: ProcessInfo.processInfo.environment)
        guard places.count == 1 else {
            throw CommandFailure(
                places.isEmpty ? .notFound : .usage,
                places.isEmpty
                    ? "no state in the default place was last mounted at \(directory); name it: \(command) --state DIR"
                    : "several states were mounted at \(directory); name one with --state: "
                        + places.map(\.path).joined(separator: ", "))
        }
        return try StateDirectory(given: places[0].path, resolved: places[0].path)
    }
}
