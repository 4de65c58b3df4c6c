import Coordination
package import ControlAPI
import FileSystem
package import Model
import Replica
import Sync

extension ReasonsRequest: PerformedQuestion {
    /// Who downloaded an item, why it is local, why it stays, who holds it and what it waits for.
    ///
    /// - Throws: ``FileError`` with `notFound`.
    package func perform(in daemon: ControlledDaemon) throws(FileError) -> ItemReasons {
        guard let facts = try daemon.replica.read({ try $0.facts(at: item) }) else {
            throw FileError(.notFound, "no such item")
        }
        let number = facts.attributes.inode
        let listings = try daemon.fileSystem.locks(on: number)
        let holders = listings.flatMap(\.holders)
        var reasons = ItemReasons(
            path: facts.path, kind: facts.attributes.kind, isLocal: facts.isLocal,
            download: try daemon.replica.read { try $0.downloadOrigin(of: number) })
        if [.file, .directory].contains(facts.attributes.kind) { reasons.rules = try daemon.appliedRules(number) }
        if facts.attributes.kind == .file {
            if facts.isLocal {
                reasons.localBecause = daemon.localReasons(facts, reasons.download)
                reasons.staysBecause = daemon.obstacles(facts, holders)
                reasons.localBecause += try daemon.rules(facts)
            }
            reasons.waitsFor += daemon.downloadWaits(facts)
        }
        reasons.heldBy = daemon.openers(number) + daemon.sentences(holders, "has") + daemon.presenters(listings)
        reasons.waitsFor += try daemon.uploadWaits(facts) + daemon.sentences(listings.flatMap(\.waiters), "waits for")
        return reasons
    }
}

extension ControlledDaemon {
    fileprivate func localReasons(_ facts: ItemFacts, _ download: DownloadOrigin?) -> [String] {
        var reasons: [String] = []
        if facts.entry?.item == nil { reasons.append("it is not synced: the only copy is here") }
        if facts.isPinned { reasons.append("pinned, by its own setting or that of a directory above it") }
        if let download, download.arrived != nil { reasons.append("downloaded: \(download.cause)") }
        if facts.isModified { reasons.append("changed here since it was last uploaded") }
        if reasons.isEmpty { reasons.append("made on this device, and not evicted since") }
        return reasons
    }

    fileprivate func appliedRules(_ number: InodeNumber) throws(FileError) -> [AppliedRule] {
        let rules = try fileSystem.rules(for: number)
        return try replica.read { rows in
            try DirectoryRule.allCases.compactMap { rule in
                guard let found = rules[rule] else { return nil }
                return AppliedRule(
                    rule: rule, value: rule.text(found.limit), source: found.source.rawValue,
                    directory: try rows.path(ofDirectory: found.directory).string)
            }
        }
    }

    /// What the rules `evict_after` and `keep_recent` say.
    fileprivate func rules(_ facts: ItemFacts) throws(FileError) -> [String] {
        let use = try fileSystem.useRules(for: facts.attributes.inode)
        var rules: [String] = []
        if let recentUntil = use.recentUntil {
            rules.append("used lately: the limits of the cache leave it until \(recentUntil.rfc3339) (keep_recent)")
        }
        if let unusedAt = use.unusedAt, !facts.isPinned, facts.entry?.item != nil {
            rules.append("evicted if it is not used until \(unusedAt.rfc3339) (evict_after)")
        }
        return rules
    }

    fileprivate func obstacles(_ facts: ItemFacts, _ holders: [LockListing.Party]) -> [String] {
        let number = facts.attributes.inode
        var obstacles: [String] = []
        if facts.entry?.item == nil { obstacles.append("it is not synced") }
        if facts.isPinned { obstacles.append("it is pinned; to undo that, run: dewpoint unpin") }
        if facts.isModified || facts.entry?.isQueued ?? false {
            obstacles.append("it has changes that are not uploaded yet")
        }
        let users = openers(number).joined(separator: ", ")
        let by = users.isEmpty ? "" : ": \(users)"
        let inode = fileSystem.files.open.inode(number)
        if inode?.hasWriters ?? false {
            obstacles.append("it is open for writing\(by)")
        } else if inode?.access == .passthrough {
            obstacles.append("it is open\(by)")
        } else if fileSystem.files.mapped.isMapped(number) {
            obstacles.append("a program has it mapped")
        }
        if facts.hasIncoming { obstacles.append("newer bytes of it are to be downloaded") }
        obstacles += sentences(holders.filter { $0.claim != nil }, "has").map { "it is claimed: \($0)" }
        return obstacles
    }

    fileprivate func downloadWaits(_ facts: ItemFacts) -> [String] {
        guard !facts.isLocal || facts.hasIncoming else { return [] }
        if let download = fileSystem.downloads.active(facts.attributes.inode), download.isUnderWay {
            return ["its download, which is at \(Int(download.percent))%"]
        }
        let reason = reasonToWaitForDownload(facts)
        guard facts.entry?.downloadRequested ?? false else {
            return facts.entry?.error.map { ["its last download failed: \($0.text)"] } ?? []
        }
        return ["its download: \(reason ?? "other downloads are before it")"]
    }

    fileprivate func uploadWaits(_ facts: ItemFacts) throws(FileError) -> [String] {
        var waits: [String] = []
        let count = facts.entry?.conflicts.count ?? 0
        if count > 0 {
            waits.append("a decision between \(count + 1) versions; see: dewpoint versions, dewpoint resolve")
        }
        if facts.attributes.inode == .root, facts.isModified {
            waits.append("nothing: the mode and the attributes of a container's root stay on this device")
        }
        guard let entry = facts.entry, let item = entry.item, entry.isQueued else { return waits }
        let number = facts.attributes.inode
        if let percent = syncEngine.uploader.percent(of: number) {
            return waits + ["its upload, which is at \(Int(percent))%"]
        }
        let reason = reasonToWait(item, number, isPaused: facts.isPaused, blocked: try uploadBlock())
        return waits + ["its upload: \(reason ?? "it is next, or other changes are before it")"]
    }

    // MARK: Programs

    /// `open for writing by vim(99)`, once for each program.
    fileprivate func openers(_ number: InodeNumber) -> [String] {
        var seen: Set<String> = []
        return fileSystem.files.open.handles(of: number).map { handle in
            let process = handle.lastProcess
            let program = process > 0 ? "\(Self.name(process))" : "a program"
            return "open for \(handle.isWritable ? "writing" : "reading") by \(program)"
        }.filter { seen.insert($0).inserted }.sorted()
    }

    private static func name(_ process: Int32) -> String {
        let command = ProcessTable.command(of: process)
        return "\(command.isEmpty ? "an ended program" : command)(\(process))"
    }

    fileprivate func sentences(_ parties: [LockListing.Party], _ verb: String) -> [String] {
        parties.map { party in
            let programs = party.processes.map(Self.name).joined(separator: ", ")
            let detail = party.detail.isEmpty ? "" : " (\(party.detail))"
            return "\(programs) \(verb) a \(party.kind)\(detail)"
        }
    }

    fileprivate func presenters(_ listings: [LockListing]) -> [String] {
        listings.flatMap(\.presenters).map { "\($0.command)(\($0.process)) presents it" }
    }
}
