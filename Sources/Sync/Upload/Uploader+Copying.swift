import Logging
package import Model
import Replica
import Synchronization
import Linux

/// Uploads copies of files that are written for ever.
extension Uploader {
    /// How long a file may be written while somebody waits for uploads, before a copy of it is uploaded.
    static let awaitedLimit = Duration.seconds(10)
    /// How often a file is copied again that was written during the copy.
    static let copyLimit = 3

    /// A consistent copy of a file that is being written, if one is due.
    struct Copy {
        var descriptor: Descriptor
        var generation: Int64
        var byteCount: Int64
        var modified: Timestamp
    }

    func copyIfDue(_ number: InodeNumber) throws(FileError) -> Copy? {
        let now = environment.uptime()
        let isDue = state.withLock { state in
            let limit = state.waiterCount > 0 ? Self.awaitedLimit : .seconds(Int64(Int32.max))
            return state.busy.isDue(number, at: now, limit: limit)
        }
        guard isDue else { return nil }
        do throws(FileError) {
            for _ in 0..<Self.copyLimit {
                if let copy = try copy(number) { return copy }
            }
            logger.debug("a file is written without a pause; copying it later", metadata: ["inode": "\(number)"])
        } catch {
            guard error.code != .notFound else { throw error }
            logger.warning(
                "failed to copy a file that is being written; trying again later",
                metadata: ["inode": "\(number)", "error": "\(error)"])
        }
        state.withLock { $0.busy.failed(number, at: now) }
        return nil
    }

    /// - Returns: `nil` when it was written meanwhile.
    private func copy(_ number: InodeNumber) throws(FileError) -> Copy? {
        guard try local.beginUpload(of: number, quiet: .zero) else { return nil }
        let opened = try local.recordOpenBytes(of: number)
        let before = try replica.read { try $0.inode(number) }
        guard try local.isUnwritten(number) else { return nil }
        let source: Descriptor
        if let opened { source = opened } else { source = try replica.openBytes(of: number) }
        let status = try source.status()
        let (copy, isOfOneMoment) = try replica.temporaryCopy(of: source)
        if !isOfOneMoment {
            // Stores into a mapping show in the times only.
            let after = try source.status()
            guard try local.isUnwritten(number),
                try replica.read({ try $0.generation(of: number) }) == before.generation,
                (status.modified, status.changed, status.size) == (after.modified, after.changed, after.size)
            else { return nil }
        }
        return Copy(
            descriptor: copy, generation: before.generation, byteCount: try copy.status().size,
            modified: before.attributes.modified)
    }

    /// The files that wait because they are being written, with the time since bytes of each were uploaded, if
    /// that is known.
    package var busyFiles: [(number: InodeNumber, age: Duration?)] {
        let now = environment.uptime()
        return state.withLock { $0.busy.waiting }.map { file in (file.number, file.copied.map { now - $0 }) }
    }

    /// A caller waits for uploads: files that are being written are not waited for as long.
    package func beginWaiting() { state.withLock { $0.waiterCount += 1 } }

    package func endWaiting() { state.withLock { $0.waiterCount -= 1 } }
}
