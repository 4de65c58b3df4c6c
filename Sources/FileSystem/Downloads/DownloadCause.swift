import Model

/// Who causes a download, in words.
package struct DownloadCause: Hashable, Sendable {
    let text: String

    static let pinned = DownloadCause(text: "pinned")
    package static let command = DownloadCause(text: "requested by dewpoint download")
    static let attribute = DownloadCause(text: "requested by an attribute")
    static let claim = DownloadCause(text: "needed by a claim")
    static let version = DownloadCause(text: "a version was chosen")
    static let exclusion = DownloadCause(text: "excluded from sync")

    static func reading(_ process: Int32) -> DownloadCause { by("read", process) }
    static func writing(_ process: Int32) -> DownloadCause { by("changed", process) }

    private static func by(_ verb: String, _ process: Int32) -> DownloadCause {
        let command = ProcessTable.command(of: process)
        return DownloadCause(text: "\(verb) by \(command.isEmpty ? "a program" : command)(\(process))")
    }
}
