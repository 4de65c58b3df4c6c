import Coordination
import Model
import Remote
import Synchronization

/// The bytes that a claim waits for, on their way.
struct ClaimDownload: Sendable {
    let set: ClaimSetID
    /// The client's own name for the claim.
    let name: UInt64
    let items: [ClaimItem]
    let deliver: @Sendable (SessionEvent) -> Void
    /// Raised when the claim ends first.
    let end: Signal
}

/// The downloads of claims: they run as children of ``run()``, so that they end with the engine.
extension Claims {
    /// Downloads the items of a claim, reporting progress to its client.
    func requestDownload(of items: [ClaimItem], for set: ClaimSetID) {
        let owner = state.withLock { $0.owners[set] }
        guard case .client(let client, let name)? = owner else {
            // The engine's own claims take the bytes as they are.
            return lockManager.perform { table, now in table.downloaded(set, now: now) }
        }
        do throws(FileError) {
            // Asked now: sync may have brought news of newer bytes while the claim waited for it.
            if try bytes.areLocal(items) {
                return lockManager.perform { table, now in table.downloaded(set, now: now) }
            }
        } catch {
            return failed(set, error)
        }
        let end = Signal()
        let isWanted = state.withLock { state in
            guard state.owners[set] != nil, let deliver = state.clients[client]?.deliver else { return false }
            state.downloads[set] = end
            state.newDownloads.append(
                ClaimDownload(set: set, name: name, items: items, deliver: deliver, end: end))
            return true
        }
        if isWanted { lockManager.claimEffects.wake() }
    }

    func takeDownloads() -> [ClaimDownload] {
        state.withLock { state in
            defer { state.newDownloads = [] }
            return state.newDownloads
        }
    }

    func run(_ download: ClaimDownload) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.fetch(download) }
            group.addTask { await download.end.wait() }
            await group.next()
            group.cancelAll()
        }
    }

    private func fetch(_ download: ClaimDownload) async {
        do {
            try await bytes.download(download.items) { progress in
                download.deliver(
                    .downloading(
                        claim: download.name, bytesDone: progress.bytesDone, bytesTotal: progress.bytesTotal))
            }
            lockManager.perform { table, now in table.downloaded(download.set, now: now) }
        } catch let error as FileError {
            failed(download.set, error)
        } catch {
            failed(download.set, FileError(.cancelled, "the download was interrupted"))
        }
    }

    private func failed(_ set: ClaimSetID, _ error: FileError) {
        lockManager.perform { table, now in table.downloadFailed(set, error, now: now) }
    }
}
