import Model

/// A container's status for people.
///
///     Notes (iCloud.com.example.Notes)
///       mountpoint  /mnt/notes
///       remote      file:///srv/cloud/Notes
///       …
enum ContainerText {
    static func text(_ status: ContainerStatus) -> String {
        var lines = [
            ("mountpoint", status.mountpoint), ("remote", status.remote), ("state", status.state),
            ("device", "\(status.deviceName) (\(status.device))"), ("daemon", "process \(status.processID)"),
            ("items", "\(status.itemCount)"),
            ("downloaded", "\(count(status.downloadedFileCount, "file")), \(ByteCount(status.downloadedByteCount))"),
            ("sync", sync(status)), ("reads", status.readMode),
            ("fast paths", fastPaths(status.fastPaths)),
        ]
        if let problem = status.problem { lines.append(("problem", problem)) }
        let width = lines.map(\.0.count).max() ?? 0
        let body = lines.map { name, value in "  \(name.padding(to: width))  \(value)" }
        return (["\(status.name) (\(status.container))"] + body).joined(separator: "\n")
    }

    private static func sync(_ status: ContainerStatus) -> String {
        var parts = ["at commit \(status.applied)"]
        if status.isPaused { parts.insert("paused", at: 0) }
        parts.append(
            status.pendingUploadCount == 0 ? "all uploaded" : "\(count(status.pendingUploadCount, "change")) to upload")
        if status.activeDownloadCount > 0 { parts.append("\(count(status.activeDownloadCount, "download")) running") }
        return parts.joined(separator: ", ")
    }

    /// Those that are not on, each with its reason.
    private static func fastPaths(_ paths: [FastPathStatus]) -> String {
        let rest = paths.filter { $0.state != .on }.map { path in
            let name = path.name.rawValue
            return path.state == .off ? "\(name) off" : "\(name) not available (\(path.reason ?? "no reason given"))"
        }
        return rest.isEmpty ? "all on" : "all on but " + rest.joined(separator: ", ")
    }

    private static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
