import Model

/// Who causes a download, in words.
package struct DownloadCause: Hashable, Sendable {
    let text: String

    package static let pinned = DownloadCause(text: "pinned")
    package static let command = DownloadCause(text: "requested by dewpoint download")
    package static let attribute = DownloadCause(text: "requested by an attribute")
    static let small = DownloadCause(text: "small enough to come by itself (download_small)")
    static let claim = DownloadCause(text: "needed by a claim")
    package static let version = DownloadCause(text: "a version was chosen")
    package static let exclusion = DownloadCause(text: "excluded from sync")

    static func reading(_ process: Int32) -> DownloadCause { by("read", process) }
    static func writing(_ process: Int32) -> DownloadCause { by("changed", process) }

    private static func by(_ verb: String, _ process: Int32) -> DownloadCause {
        let command = ProcessTable.command(of: process)
        return DownloadCause(text: "\(verb) by \(command.isEmpty ? "a program" : command)(\(process))")
    }
}
