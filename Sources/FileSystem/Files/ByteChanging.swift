import Coordination
import Linux
import Model
import Replica
import Sync

/// A change of a file's bytes.
enum ByteChange: Sendable {
    /// At an offset, or at the end.
    case write(offset: Int64?, byteCount: Int)
    case truncate(Int64)
    case allocate(mode: Int32, offset: Int64, byteCount: Int64)

    var byteCount: Int {
        if case .write(_, let byteCount) = self { byteCount } else { 0 }
    }
}

/// Subjects changes of bytes to the space on the disk and to the lock table, and performs them: they wait for claims, and
/// for bytes that are not local.
struct ByteChanging: Sendable {
    let fileSystem: FileSystem

    /// Performs a change unless a claim holds it off; then it waits for a moment.
    func admitted(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, _ writer: Writer,
        _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        do throws(FileError) {
            try admitBytes(of: change, in: open)
        } catch {
            guard error.code == .diskFull, fileSystem.cache.evictor.hasLimits else { throw error }
            let copy = Array(bytes)
            return .pending { [self] () async throws(FileError) in
                try await makeRoom(for: change, in: open, orThrow: error)
                let answer = try copy.withBytes { bytes throws(FileError) in
                    try admittedChange(change, bytes, on: open, writer, caller)
                }
                return try await answer.value
            }
        }
        return try admittedChange(change, bytes, on: open, writer, caller)
    }

    /// How long a write to a full disk waits for an eviction: the kernel holds the file meanwhile.
    private static let roomPatience = Duration.seconds(2)

    /// Evicts other files for a change, for as long as a write may take.
    private func makeRoom(
        for change: ByteChange, in open: OpenInode, orThrow failure: FileError
    ) async throws(FileError) {
        let floor = fileSystem.cache.freeSpaceFloor
        let byteCount = Int64(change.byteCount)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await floor.makeRoom(for: byteCount) }
            group.addTask { [environment = fileSystem.environment] in
                _ = try? await environment.sleep(Self.roomPatience)
            }
            _ = await group.next()
            group.cancelAll()
        }
        do throws(FileError) { try admitBytes(of: change, in: open) } catch { throw failure }
    }

    private func admittedChange(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, _ writer: Writer,
        _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let finished: @Sendable () -> Void = { [manager = fileSystem.locking.manager] in
            manager.finished(open.number, by: writer, byteCount: change.byteCount)
        }
        switch try fileSystem.locking.manager.write(open.number, by: writer) {
        case .ready:
            return try perform(change, bytes, on: open, caller: caller, finished: finished)
        case .pending(let wait):
            let copy = Array(bytes)
            return .pending { [self] () async throws(FileError) in
                try await wait()
                let answer = try copy.withBytes { bytes throws(FileError) in
                    try perform(change, bytes, on: open, caller: caller, finished: finished)
                }
                return try await answer.value
            }
        }
    }

    /// - Throws: `diskFull` when only the reserve is left and the change needs more space than the file occupies.
    private func admitBytes(of change: ByteChange, in open: OpenInode) throws(FileError) {
        guard change.byteCount > 0 else { return }
        do throws(FileError) {
            try fileSystem.cache.freeSpaceFloor.admit(change.byteCount)
        } catch {
            // Overwriting needs no space: databases and programs that preallocate rely on that to avoid a full disk.
            guard error.code == .diskFull, case .write(let offset?, let byteCount) = change,
                let descriptor = open.descriptor,
                offset + Int64(byteCount) <= (try BackingStatus(of: descriptor).allocatedByteCount)
            else { throw error }
        }
    }

    /// Performs a change now, or after the rest of the file was downloaded.
    func perform(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, caller: Caller,
        finished: @escaping @Sendable () -> Void
    ) throws(FileError) -> Answer<Int> {
        do throws(FileError) {
            if let count = try performLocally(change, bytes, on: open, caller: caller) {
                finished()
                return .ready(count)
            }
            if case .truncate(0) = change {
                try emptyPlaceholder(open)
                guard let count = try performLocally(change, bytes, on: open, caller: caller) else {
                    throw FileError(.superseded, "\(open.number) was evicted while it was being truncated")
                }
                finished()
                return .ready(count)
            }
        } catch {
            finished()
            throw error
        }
        // A partial change of a file that is not local downloads it first.
        let copy = Array(bytes)
        return .pending { [self] () async throws(FileError) in
            defer { finished() }
            // Evicted again as soon as it was downloaded: retry a few times, then fail.
            for _ in 0..<Self.downloadAttempts {
                try await fileSystem.reading.downloads.makeLocal(
                    open.number, because: .writing(ProcessTable.process(ofThread: caller.thread)))
                if open.descriptor == nil, let descriptor = try fileSystem.localBytes(open.number) {
                    open.arrived(descriptor)
                }
                let count = try copy.withBytes { bytes throws(FileError) in
                    try performLocally(change, bytes, on: open, caller: caller)
                }
                if let count { return count }
            }
            throw FileError(.busy, "\(open.number) was evicted again after each download")
        }
    }

    private static let downloadAttempts = 3

    /// - Returns: `nil` if the file is not local.
    private func performLocally(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, caller: Caller
    ) throws(FileError) -> Int? {
        let descriptor: Descriptor?
        do throws(FileError) {
            descriptor = try open.beginWrite { () throws(FileError) in
                try fileSystem.replica.secureBytes(of: open.number, in: open.descriptor)
                try fileSystem.replica.change { try $0.markModified(open.number) }
                // A file that stays open is uploaded once it is quiet: there is no close to trigger that.
                fileSystem.activity.noteLocalChange()
            }
        } catch {
            // Evicted since it was opened: treated as not local.
            if error.code == .superseded {
                open.evicted()
                return nil
            }
            throw error
        }
        guard let descriptor else { return nil }
        defer { open.finishWrite(at: fileSystem.environment.uptime()) }
        // First, as on other file systems: the time of the change is that of the bytes.
        try clearSetID(open.number, caller)
        switch change {
        case .write(let offset, _):
            let end = offset == nil ? try descriptor.status().size : 0
            try descriptor.write(bytes, at: offset ?? end)
        case .truncate(let size):
            try descriptor.truncate(to: size)
        case .allocate(let mode, let offset, let byteCount):
            try descriptor.allocate(mode: mode, offset: offset, byteCount: byteCount)
        }
        try fileSystem.replica.stamp(descriptor)
        return change.byteCount
    }

    /// Truncation to zero needs none of the bytes.
    private func emptyPlaceholder(_ open: OpenInode) throws(FileError) {
        do throws(FileError) {
            open.arrived(try fileSystem.replica.change { try $0.replaceWithEmpty(open.number) })
            // Afterwards: whoever waited for the bytes looks for what is there now.
            fileSystem.reading.downloads.active(open.number)?.cancel()
        } catch {
            // Downloaded since the file was opened.
            guard error.code == .invalid, let descriptor = try fileSystem.localBytes(open.number) else { throw error }
            open.arrived(descriptor)
        }
    }

    /// A write by any user but root clears the set-user-ID and set-group-ID bits. Related: inode(7).
    private func clearSetID(_ number: InodeNumber, _ caller: Caller) throws(FileError) {
        guard caller.user != 0, caller.thread != 0 else { return }
        let mode = try fileSystem.replica.look { try $0.attributes(of: number).mode }
        let cleared = AttributeChange.withoutSetID(mode)
        guard cleared != mode else { return }
        _ = try fileSystem.replica.change { try $0.setAttributes(of: number, AttributeChange(mode: cleared)) }
        fileSystem.files.kernel.inodeChanged(number, bytes: false)
    }
}
