import Coordination
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
        return try answer.then { [self] count throws(FileError) in
            try self.sync(id, bytesOnly: bytesOnly, by: caller)
            return count
        }
    }

    private var byteChanges: ByteChanging { ByteChanging(fileSystem: self) }

    private func write(
        _ id: HandleID, _ offset: Int64, _ bytes: UnsafeRawBufferPointer, _ isFromPageCache: Bool, _ caller: Caller
    ) throws(FileError) -> Answer<Int> {
        let handle = try files.open.handle(id)
        handle.inode.noteUse()
        let process = isFromPageCache ? 0 : handle.process(of: caller)
        let appends = handle.appends && !isFromPageCache && !isAppended(bytes, to: handle, at: offset, by: caller)
        let change = ByteChange.write(offset: appends ? nil : offset, byteCount: bytes.count)
        if isFromPageCache {
            return try byteChanges.perform(change, bytes, on: handle.inode, caller: caller) {}
        }
        let writer = LockManager.writer(handle, process: process)
        return try byteChanges.admitted(change, bytes, on: handle.inode, writer, caller)
    }

    /// Whether the daemon before was killed while it appended these bytes, and has appended them in part or whole: then they
    /// are written at their place again. The kernel lets nobody else append meanwhile.
    private func isAppended(
        _ bytes: UnsafeRawBufferPointer, to handle: OpenHandle, at offset: Int64, by caller: Caller
    ) -> Bool {
        guard caller.request?.isRepeated == true, let descriptor = handle.inode.descriptor,
            let found = try? descriptor.read(byteCount: bytes.count, at: offset)
        else { return false }
        return !found.isEmpty && found.elementsEqual(bytes.prefix(found.count))
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
            answer = try byteChanges.admitted(.truncate(size), .none, on: open.inode, writer, caller)
        } else {
            let writer = Writer(process: ProcessID(ProcessTable.process(ofThread: caller.thread)), handle: nil)
            answer = try truncateByName(number, to: size, writer, caller)
        }
        return try answer.then { [self] _ throws(FileError) in try truncated(number, caller) }
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
            let answer = try byteChanges.admitted(.truncate(size), .none, on: handle.inode, writer, caller)
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
        return try byteChanges.admitted(change, .none, on: handle.inode, writer, caller).then { _ in }
    }

    /// The truncation of an open with `O_TRUNC`, once its turn has come.
    func truncateAtOpen(_ handle: OpenHandle, by caller: Caller) throws(FileError) -> Answer<Void> {
        let writer = LockManager.writer(handle, process: handle.process(of: caller))
        let answer = try byteChanges.admitted(.truncate(0), .none, on: handle.inode, writer, caller)
        return try answer.then { [self] _ throws(FileError) in
            try recordBytes(of: handle.inode, by: caller)
            activity.noteLocalChange()
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
                return try await copy(bytes, target, targetOffset, caller).value
            }
        }
    }

    /// - Returns: The size of the copy, or `nil` when the bytes must be copied.
    private func share(_ source: OpenInode, with copy: OpenInode, atMost limit: Int) throws(FileError) -> Int? {
        let size = try replica.look { try $0.attributes(of: source.number).size }
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

extension UnsafeRawBufferPointer {
    /// No bytes: for a truncation or an allocation.
    fileprivate static var none: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}
