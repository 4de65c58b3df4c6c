package import Model
import Replica

/// Evictions that report what they did, file by file.
extension FileSystem {
    /// Evicts a file, or every file below a directory, and reports what was freed and what stayed.
    ///
    /// - Throws: ``FileError`` with `notFound`; and any but `busy` if nothing was evicted before.
    package func evictReporting(_ path: String) async throws(FileError) -> EvictionReport {
        let number = try resolve(path)
        var report = EvictionReport(path: path)
        var files: [InodeNumber] = []
        try forEachFile(below: number) { files.append($0) }
        var eviction = eviction()
        for file in files {
            do throws(FileError) {
                try await evict(file, &eviction, &report)
            } catch {
                if Task.isCancelled { throw FileError(.interrupted, "the eviction was interrupted") }
                switch error.code {
                // Unlinked in the meantime: there is nothing left to evict.
                case .notFound: continue
                case .busy: try stayed(file, error.detail, &report)
                case _ where report.evictedCount > 0:
                    report.problem = error.detail
                    return report
                default: throw error
                }
            }
        }
        return report
    }

    private func evict(
        _ file: InodeNumber, _ eviction: inout Eviction, _ report: inout EvictionReport
    ) async throws(FileError) {
        let before = try replica.attributes(of: file)
        guard try replica.isLocal(file) else {
            // A download of it may be under way.
            return try await eviction.evict(file)
        }
        try await eviction.evict(file)
        guard try !replica.isLocal(file) else { return report.unsyncedCount += 1 }
        report.evictedCount += 1
        report.freedByteCount += before.blocks * 512
        if report.evicted.count < EvictionReport.pathLimit { report.evicted.append(try replica.path(of: file)) }
    }

    private func stayed(_ file: InodeNumber, _ reason: String, _ report: inout EvictionReport) throws(FileError) {
        report.stayedCount += 1
        guard report.stayed.count < EvictionReport.pathLimit, let path = try? replica.path(of: file) else { return }
        report.stayed.append(.init(path: path, reason: reason))
    }
}
