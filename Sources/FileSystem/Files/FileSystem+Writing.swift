import Coordination
import Glibc
package import Model
import Replica
import Sync
import Linux

/// The second flow: a write goes to the backing file at once, unless the file is claimed.
extension FileSystem {
    /// Related: pwrite(2).
    ///
    /// - Parameters:
    ///   - fromPageCache: The kernel writes mapped pages back: without a known caller, and not subject to the lock
    ///     table.
    ///   - sync: What must be on the disk before the answer.
    package func write(
        _ id: HandleID, offset: Int64, bytes: UnsafeRawBufferPointer, fromPageCache isFromPageCache: Bool,
        sync: WriteSync = .none, by caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let answer = try write(id, offset, bytes, isFromPageCache, caller)
        // After a write through the page cache, the kernel sends an fsync of its own.
        guard let bytesOnly = sync.bytesOnly, try files.open.handle(id).inode.access == .passthrough else {
            return answer
        }
        switch answer {
        case .ready(let count):
            try self.sync(id, bytesOnly: bytesOnly, by: caller)
            return .ready(count)
        case .pending(let wait):
            return .pending { [self] () async throws(FileError) in
                let count = try await wait()
                try self.sync(id, bytesOnly: bytesOnly, by: caller)
                return count
            }
        }
    }

    private func write(
        _ id: HandleID, _ offset: Int64, _ bytes: UnsafeRawBufferPointer, _ isFromPageCache: Bool, _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let handle = try files.open.handle(id)
        handle.inode.noteUse()
        let process = isFromPageCache ? 0 : handle.process(of: caller)
        let change = ByteChange.write(
            offset: handle.appends && !isFromPageCache ? nil : offset, byteCount: bytes.count)
        if isFromPageCache {
            return try perform(change, bytes, on: handle.inode, caller: caller) {}
        }
        let writer = LockManager.writer(handle, process: process)
        return try admitted(change, bytes, on: handle.inode, writer, caller)
    }

    /// Related: truncate(2), ftruncate(2).
    package func setSize(
        of number: InodeNumber, to size: Int64, handle: HandleID?, by caller: Caller
    ) throws(FileError) -> Answer<Attributes> {
        guard size >= 0 else { throw FileError(.invalid, "a negative size") }
        let answer: Answer<Int>
        if let handle {
            let open = try files.open.handle(handle)
            let writer = LockManager.writer(open, process: open.process(of: caller))
            answer = try admitted(.truncate(size), .none, on: open.inode, writer, caller)
        } else {
            let writer = Writer(process: ProcessID(ProcessTable.process(ofThread: caller.thread)), handle: nil)
            answer = try truncateByName(number, to: size, writer, caller)
        }
        switch answer {
        case .ready:
            return .ready(try truncated(number, caller))
        case .pending(let wait):
            return .pending { [self] () async throws(FileError) in
                _ = try await wait()
                return try truncated(number, caller)
            }
        }
    }

    private func truncated(_ number: InodeNumber, _ caller: Caller) throws(FileError) -> Attributes {
        if let open = files.open.inode(number) { try recordBytes(of: open, by: caller) }
        activity.noteLocalChange()
        return try attributes(of: number)
    }

    /// Truncates a file through a handle of its own, even if it is open elsewhere: if the last close of another handle
    /// came first, the new size would not be recorded in the index.
    private func truncateByName(
        _ number: InodeNumber, to size: Int64, _ writer: Writer, _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let request = OpenRequest(truncating: number, caller: caller)
        guard case .ready(let opened) = try self.open(request) else {
            throw FileError(.inputOutput, "an open without truncation waited")
        }
        let handle = try files.open.handle(opened.handle)
        do throws(FileError) {
            let answer = try admitted(.truncate(size), .none, on: handle.inode, writer, caller)
            switch answer {
            case .ready(let count):
                try recordBytes(of: handle.inode, by: caller)
                release(opened.handle, flockOwner: nil, by: caller)
                return .ready(count)
            case .pending(let wait):
                return .pending { [self] () async throws(FileError) in
                    defer { release(opened.handle, flockOwner: nil, by: caller) }
                    let count = try await wait()
                    try recordBytes(of: handle.inode, by: caller)
                    return count
                }
            }
        } catch {
            release(opened.handle, flockOwner: nil, by: caller)
            throw error
        }
    }

    /// Related: fallocate(2).
    package func allocate(
        _ id: HandleID, mode: Int32, offset: Int64, byteCount: Int64, by caller: Caller
    ) throws(FileError) -> Answer<Void> {
        let handle = try files.open.handle(id)
        let writer = LockManager.writer(handle, process: handle.process(of: caller))
        let change = ByteChange.allocate(mode: mode, offset: offset, byteCount: byteCount)
        return try admitted(change, .none, on: handle.inode, writer, caller).discardingCount
    }

    // MARK: Order

    /// Performs a change unless a claim holds it off; then it waits for a moment.
    private func admitted(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, _ writer: Writer,
        _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        do throws(FileError) {
            try admitBytes(of: change, in: open)
        } catch {
            guard error.code == .diskFull, cache.evictor.hasLimits else { throw error }
            let copy = Array(bytes)
            return .pending { [self] () async throws(FileError) in
                try await makeRoom(for: change, in: open, orThrow: error)
                let answer = try copy.withBytes { bytes throws(FileError) in
                    try admittedChange(change, bytes, on: open, writer, caller)
                }
                switch answer {
                case .ready(let count): return count
                case .pending(let wait): return try await wait()
                }
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
        let floor = cache.freeSpaceFloor
        let byteCount = Int64(change.byteCount)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await floor.makeRoom(for: byteCount) }
            group.addTask { [environment] in _ = try? await environment.sleep(Self.roomPatience) }
            _ = await group.next()
            group.cancelAll()
        }
        do throws(FileError) { try admitBytes(of: change, in: open) } catch { throw failure }
    }

    private func admittedChange(
        _ change: ByteChange, _ bytes: UnsafeRawBufferPointer, on open: OpenInode, _ writer: Writer,
        _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let finished: @Sendable () -> Void = { [manager = locking.manager] in
            manager.finished(open.number, by: writer, byteCount: change.byteCount)
        }
        switch try locking.manager.write(open.number, by: writer) {
        case .ready:
            return try perform(change, bytes, on: open, caller: caller, finished: finished)
        case .pending(let wait):
            let copy = Array(bytes)
            return .pending { [self] () async throws(FileError) in
                try await wait()
                let answer = try copy.withBytes { bytes throws(FileError) in
                    try perform(change, bytes, on: open, caller: caller, finished: finished)
                }
                switch answer {
                case .ready(let count): return count
                case .pending(let wait): return try await wait()
                }
            }
        }
    }

    /// - Throws: `diskFull` when only the reserve is left and the change needs more space than the file occupies.
    private func admitBytes(of change: ByteChange, in open: OpenInode) throws(FileError) {
        guard change.byteCount > 0 else { return }
        do throws(FileError) {
            try cache.freeSpaceFloor.admit(change.byteCount)
        } catch {
            // Overwriting needs no space: databases and programs that preallocate rely on that to avoid a full disk.
            guard error.code == .diskFull, case .write(let offset?, let byteCount) = change,
                let descriptor = open.descriptor,
                offset + Int64(byteCount) <= (try BackingStatus(of: descriptor).allocatedByteCount)
            else { throw error }
        }
    }

    /// Performs a change now, or after the rest of the file was downloaded.
    private func perform(
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
                try await reading.downloads.makeLocal(
                    open.number, because: .writing(ProcessTable.process(ofThread: caller.thread)))
                if open.descriptor == nil, let descriptor = try localBytes(open.number) { open.arrived(descriptor) }
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
                try replica.secureBytes(of: open.number, in: open.descriptor)
                try replica.change { try $0.markModified(open.number) }
                // A file that stays open is uploaded once it is quiet: there is no close to trigger that.
                activity.noteLocalChange()
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
        defer { open.finishWrite(at: environment.uptime()) }
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
        try replica.stamp(descriptor)
        return change.byteCount
    }

    /// Truncation to zero needs none of the bytes.
    private func emptyPlaceholder(_ open: OpenInode) throws(FileError) {
        do throws(FileError) {
            open.arrived(try replica.change { try $0.replaceWithEmpty(open.number) })
            // Afterwards: whoever waited for the bytes looks for what is there now.
            reading.downloads.active(open.number)?.cancel()
        } catch {
            // Downloaded since the file was opened.
            guard error.code == .invalid, let descriptor = try localBytes(open.number) else { throw error }
            open.arrived(descriptor)
        }
    }

    /// A write by any user but root clears the set-user-ID and set-group-ID bits. Related: inode(7).
    private func clearSetID(_ number: InodeNumber, _ caller: Caller) throws(FileError) {
        guard caller.user != 0, caller.thread != 0 else { return }
        let mode = try replica.read { try $0.attributes(of: number).mode }
        let cleared = AttributeChange.withoutSetID(mode)
        guard cleared != mode else { return }
        _ = try replica.change { try $0.setAttributes(of: number, AttributeChange(mode: cleared)) }
        files.kernel.inodeChanged(number, bytes: false)
    }

    /// The truncation of an open with `O_TRUNC`, once its turn has come.
    func truncateAtOpen(_ handle: OpenHandle, by caller: Caller) throws(FileError) -> Answer<Void> {
        let writer = LockManager.writer(handle, process: handle.process(of: caller))
        let answer = try admitted(.truncate(0), .none, on: handle.inode, writer, caller)
        let finish: @Sendable () throws(FileError) -> Void = { [self] () throws(FileError) in
            try recordBytes(of: handle.inode, by: caller)
            activity.noteLocalChange()
        }
        switch answer {
        case .ready:
            try finish()
            return .ready(())
        case .pending(let wait):
            return .pending { () async throws(FileError) in
                _ = try await wait()
                try finish()
            }
        }
    }

    // MARK: Copying

    /// Related: copy_file_range(2). A whole file that is not local is copied without a download: the copy shares its
    /// chunks.
    package func copyRange(
        from source: HandleID, offset: Int64, to target: HandleID, offset targetOffset: Int64, byteCount: Int,
        by caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let from = try files.open.handle(source)
        if offset == 0, targetOffset == 0, from.inode.readable == nil,
            let byteCount = try share(from.inode, with: try files.open.handle(target).inode, atMost: byteCount)
        {
            return .ready(byteCount)
        }
        let wanted = min(byteCount, Self.copyUnit)
        if let descriptor = from.inode.readable {
            let bytes = FileBytes(descriptor: descriptor, offset: offset, byteCount: wanted)
            return try copy(.file(bytes), target, targetOffset, caller)
        }
        switch try read(source, offset: offset, byteCount: wanted, by: caller) {
        case .ready(let bytes):
            return try copy(bytes, target, targetOffset, caller)
        case .pending(let wait):
            return .pending { [self] () async throws(FileError) in
                let bytes = try await wait()
                switch try copy(bytes, target, targetOffset, caller) {
                case .ready(let count): return count
                case .pending(let wait): return try await wait()
                }
            }
        }
    }

    /// - Returns: The size of the copy, or `nil` when the bytes must be copied.
    private func share(_ source: OpenInode, with copy: OpenInode, atMost limit: Int) throws(FileError) -> Int? {
        let size = try replica.read { try $0.attributes(of: source.number).size }
        // Writes to the copy must be recorded in the index, which otherwise takes it for empty.
        try recordBytes(of: copy)
        guard size > 0, size <= Int64(limit), !copy.isBeingWritten,
            // The kernel reads the backing file of a passed-through copy, and further opens must pass it through too.
            copy.access != .passthrough, try replica.change({ try $0.share(source.number, with: copy.number) })
        else { return nil }
        copy.becamePlaceholder()
        activity.noteLocalChange()
        files.kernel.inodeChanged(copy.number, bytes: true)
        return Int(size)
    }

    private func copy(
        _ source: ByteSource, _ target: HandleID, _ targetOffset: Int64, _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let bytes = try source.bytes()
        guard !bytes.isEmpty else { return .ready(0) }
        return try bytes.withBytes { bytes throws(FileError) in
            try write(target, offset: targetOffset, bytes: bytes, fromPageCache: false, by: caller)
        }
    }

    /// The most bytes that one call copies; the caller repeats the call for the rest.
    private static let copyUnit = 1 << 20
}

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

extension Answer<Int> {
    var discardingCount: Answer<Void> {
        switch self {
        case .ready: .ready(())
        case .pending(let wait): .pending { () async throws(FileError) in _ = try await wait() }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// No bytes: for a truncation or an allocation.
    fileprivate static var none: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}
