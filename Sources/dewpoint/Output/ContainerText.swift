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
        if let cache = status.cache { lines += self.cache(cache) }
        lines += (status.storms ?? []).map { ("bulk reads", storm($0)) }
        if let link = status.link { lines.append(("link", "\(link.text); see: dewpoint link")) }
        if let problem = status.problem { lines.append(("problem", problem)) }
        let width = lines.map(\.0.count).max() ?? 0
        let body = lines.map { name, value in "  \(name.padding(to: width))  \(value.printable)" }
        return (["\(status.name.printable) (\(status.container))"] + body).joined(separator: "\n")
    }

    private static func sync(_ status: ContainerStatus) -> String {
        var parts = ["at commit \(status.applied)"]
        if status.isPaused { parts.insert("paused", at: 0) }
        parts.append(pending(status).map { "\($0) to upload" } ?? "all uploaded")
        if status.activeDownloadCount > 0 { parts.append("\(count(status.activeDownloadCount, "download")) running") }
        return parts.joined(separator: ", ")
    }

    /// `12 changes (3.5 MiB)`; `nil` when everything is uploaded.
    static func pending(_ status: ContainerStatus) -> String? {
        guard status.pendingUploadCount > 0 else { return nil }
        let changes = count(status.pendingUploadCount, "change")
        guard let byteCount = status.pendingUploadByteCount, byteCount > 0 else { return changes }
        return "\(changes) (\(ByteCount(byteCount)))"
    }

    /// The fast paths that are not on, each with its reason.
    private static func fastPaths(_ paths: [FastPathStatus]) -> String {
        let rest = paths.filter { $0.state != .on }.map { path in
            let name = path.name.rawValue
            return path.state == .off ? "\(name) off" : "\(name) not available (\(path.reason ?? "no reason given"))"
        }
        return rest.isEmpty ? "all on" : "all on except " + rest.joined(separator: ", ")
    }

    private static func storm(_ storm: StormReport) -> String {
        let state =
            switch storm.state {
            case .counted, .noticed: "not limited"
            case .held:
                "held, \(count(storm.waitingReadCount, "read")) waiting; resume with: dewpoint allow-download \(storm.group)"
            case .refused: "refused; allow with: dewpoint allow-download \(storm.group)"
            case .allowed: "allowed"
            }
        return "\(storm.program) (process group \(storm.group)), \(count(storm.fileCount, "file")), "
            + "\(ByteCount(storm.byteCount)) within a minute: \(state)"
    }

    /// Empty without limits.
    private static func cache(_ cache: CacheStatus) -> [(String, String)] {
        var parts: [String] = []
        if let limit = cache.byteLimit { parts.append("\(ByteCount(cache.byteCount)) of at most \(ByteCount(limit))") }
        if let floor = cache.freeByteFloor {
            parts.append("\(ByteCount(cache.freeByteCount)) free of at least \(ByteCount(floor))")
        }
        guard !parts.isEmpty else { return [] }
        var lines = [("cache", parts.joined(separator: ", "))]
        if let round = cache.lastRound { lines.append(("evicted", self.round(round))) }
        return lines
    }

    private static func round(_ round: CacheStatus.Round) -> String {
        var text =
            "\(count(round.evictedFileCount, "file")), \(ByteCount(round.evictedByteCount)) at \(round.time.prefix(19))Z"
        if round.missingByteCount > 0 { text += "; still \(ByteCount(round.missingByteCount)) over the limit" }
        let stayed = round.blockedBy.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        if !stayed.isEmpty { text += "; stayed: \(stayed.joined(separator: ", "))" }
        if let problem = round.problem { text += "; \(problem)" }
        return text
    }

    private static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
