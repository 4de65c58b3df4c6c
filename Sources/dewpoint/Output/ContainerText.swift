import Model

/// A container's status for people.
///
///     Notes (iCloud.com.example.Notes)
///       mountpoint  /mnt/notes
///       remote      file:///srv/cloud/Notes
///       …
///     safe to shut down: everything is uploaded
enum ContainerText {
    static func text(_ status: ContainerStatus) -> String {
        var lines = [
            ("mountpoint", status.mountpoint), ("remote", status.remote), ("state", status.state),
            ("device", "\(status.deviceName) (\(status.device))"), ("daemon", "process \(status.processID)"),
        ]
        if status.isEncrypted == true {
            lines.append(("encryption", "on; who can open it: dewpoint key list \(status.mountpoint)"))
        }
        if let survival = status.survival { lines.append(("survival", survival.sentence)) }
        if let store = status.store { lines.append(("store", text(store))) }
        if let readOnly = status.readOnly { lines.append(("changes", text(readOnly))) }
        if let totals = status.totals { lines += TotalsText.rows(totals, path: status.mountpoint) }
        if let unsynced = status.unsynced, unsynced.itemCount > 0 {
            lines.append(
                (
                    "not synced",
                    "\(count(unsynced.itemCount, "item")) (\(ByteCount(unsynced.byteCount))), on this device only: ignored "
                        + "names and what was excluded"
                ))
        }
        if let trashed = status.trashed, trashed.itemCount > 0 {
            lines.append(
                (
                    "in the trash",
                    "\(count(trashed.itemCount, "new file")) (\(ByteCount(trashed.byteCount))), on this device only: not "
                        + "uploaded unless put back"
                ))
        }
        if let quota = status.quota.flatMap(QuotaText.line) { lines.append(("quota", quota)) }
        lines += [
            ("sync", sync(status)), ("reads", status.readMode), ("fast paths", fastPaths(status.fastPaths)),
        ]
        if let cache = status.cache { lines += self.cache(cache) }
        lines += (status.storms ?? []).map { ("bulk reads", storm($0)) }
        if let link = status.link { lines.append(("link", "\(link.text); see: dewpoint link")) }
        lines += (status.busyFiles ?? []).map { ("written now", text($0)) }
        lines += (status.overdue ?? []).map { ("overdue", $0.sentence(since: LocalTime.text($0.last))) }
        lines += (status.peers ?? []).map { ("hears", text($0)) }
        if let putBack = status.putBack {
            lines.append(
                (
                    "put back",
                    "this device's state is older than its own commit \(putBack.commit), met at "
                        + "\(LocalTime.text(putBack.time)): what waited here was merged; see: dewpoint conflicts "
                        + status.mountpoint
                ))
        }
        if let problem = status.problem { lines.append(("problem", problem)) }
        let isStuck = status.readOnly?.reason == .store
        let verdict = status.totals.map { [TotalsText.verdict($0, problem: status.problem, isStuck: isStuck)] } ?? []
        return (["\(status.name.printable) (\(status.container))"] + TotalsText.lines(lines) + verdict)
            .joined(separator: "\n")
    }

    private static func text(_ store: StoreState) -> String {
        switch store {
        case .reachable: "answers"
        case .failing: "did not answer the last request; trying again"
        case .unreachable: "does not answer; changes and downloads wait"
        }
    }

    /// `logs/a.log: uploaded as of 12:03:05`
    static func text(_ file: ContainerStatus.BusyFile) -> String {
        "\(file.path): "
            + (file.uploaded.map { "uploaded as of \(LocalTime.text($0))" } ?? "latest changes not uploaded yet")
    }

    /// `laptop (192.168.1.7), 4 s ago`
    static func text(_ peer: ContainerStatus.Peer) -> String {
        let name = peer.name.isEmpty ? peer.device.description : peer.name.printable
        let missing =
            peer.isMissingHere
            ? "; its commit \(peer.commit) has not been found in the store for more than a minute" : ""
        return "\(name) (\(peer.address)), \(peer.secondsAgo) s ago\(missing)"
    }

    private static func text(_ readOnly: ContainerStatus.ReadOnly) -> String {
        switch readOnly.reason {
        case .option: "refused: mounted read-only, with -o ro"
        case .store:
            "refused: the store refuses writing" + (readOnly.detail.map { ": \($0)" } ?? "")
        }
    }

    private static func sync(_ status: ContainerStatus) -> String {
        let time = status.lastCommit.map { " of \(LocalTime.text($0))" } ?? ""
        var parts = ["at commit \(status.applied)\(time)"]
        if status.isPaused { parts.insert("paused", at: 0) }
        parts.append(pending(status).map { "\($0) to upload" } ?? "all uploaded")
        if status.heldDeletionCount > 0 {
            parts.append("\(count(status.heldDeletionCount, "deletion")) held; see: dewpoint help confirm")
        }
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
            "\(count(round.evictedFileCount, "file")), \(ByteCount(round.evictedByteCount)) at \(LocalTime.text(round.time))"
        if round.missingByteCount > 0 { text += "; still \(ByteCount(round.missingByteCount)) over the limit" }
        let stayed = round.blockedBy.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        if !stayed.isEmpty { text += "; stayed: \(stayed.joined(separator: ", "))" }
        if let problem = round.problem { text += "; \(problem)" }
        return text
    }

    private static func count(_ count: Int, _ noun: String) -> String { TotalsText.count(count, noun) }
}
