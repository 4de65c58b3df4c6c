import Coordination
import Model
import Replica
import Sync

/// The bytes that a claim needs locally, the newest that are known: those of a file, or of everything in a file
/// package.
struct ClaimBytes: Sendable {
    /// The interval between progress reports to the client of a claim.
    static let progressPause = Duration.milliseconds(250)

    let replica: Replica
    let downloads: Downloads
    let environment: EngineEnvironment

    func areLocal(_ items: [ClaimItem]) throws(FileError) -> Bool { try missing(items).isEmpty }

    /// Downloads what is missing. Where older bytes are local and newer ones cannot be downloaded, the older
    /// ones stay.
    ///
    /// - Throws: ``FileError`` as reading a file does; any other error when the task was cancelled.
    func download(_ items: [ClaimItem], _ progress: @escaping @Sendable (DownloadProgress) -> Void) async throws {
        let missing = try missing(items)
        let total = missing.reduce(0) { $0 + $1.size }
        @Sendable func report() {
            var done: Int64 = 0
            var count = 0
            for file in missing {
                if (try? replica.read { try $0.isCurrent(file.inode) }) == true {
                    done += file.size
                    count += 1
                } else {
                    done += downloads.active(file.inode)?.bytesDone ?? 0
                }
            }
            progress(
                DownloadProgress(
                    bytesDone: done, bytesTotal: total, filesDone: count, filesTotal: missing.count))
        }
        report()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await environment.sleep(Self.progressPause)) != nil { report() }
            }
            for file in missing { try await makeLocal(file) }
            group.cancelAll()
        }
    }

    private struct MissingFile {
        let inode: InodeNumber
        let size: Int64
        let hasOlderBytes: Bool
    }

    private func makeLocal(_ file: MissingFile) async throws(FileError) {
        do throws(FileError) {
            try await downloads.makeLocal(file.inode, because: .claim)
        } catch {
            guard file.hasOlderBytes, !Task.isCancelled else { throw error }
        }
    }

    private func missing(_ items: [ClaimItem]) throws(FileError) -> [MissingFile] {
        var missing: [MissingFile] = []
        for item in items {
            guard let inode = item.inode else { continue }
            let files = item.isDirectory ? try replica.read { try $0.filesBelow(inode) } : [inode]
            for file in files {
                if try replica.read({ try $0.isCurrent(file) }) { continue }
                let hasOlderBytes = try replica.read { try $0.isLocal(file) }
                // While sync of the file is paused, the older bytes stay.
                if hasOlderBytes, try replica.read({ try $0.isPaused(file) }) { continue }
                let attributes = try replica.read { try $0.attributes(of: file) }
                guard attributes.kind == .file else { continue }
                missing.append(MissingFile(inode: file, size: attributes.size, hasOlderBytes: hasOlderBytes))
            }
        }
        return missing
    }
}
