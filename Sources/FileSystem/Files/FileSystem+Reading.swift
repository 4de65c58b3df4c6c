import CLinux
import Coordination
import Glibc
package import Model
import Remote
import Replica
import Linux

/// Where the bytes of a read come from.
package enum ByteSource: Sendable {
    case file(FileBytes)
    /// Bytes just downloaded.
    case memory(ArraySlice<UInt8>)
}

/// A range of a local file.
package struct FileBytes: Sendable {
    let descriptor: Descriptor
    package let offset: Int64
    /// Exceeds the available bytes only at the end of the file.
    package let byteCount: Int

    /// The file number to read from; valid as long as this value is.
    package var fileNumber: Int32 { descriptor.rawValue }

    /// - Parameter buffer: As long as the range.
    /// - Returns: The number of bytes read.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
        try descriptor.read(into: buffer, at: offset)
    }
}

/// The first flow: a read is answered from the backing file or from the downloaded part, or waits for its range.
extension FileSystem {
    package func read(
        _ id: HandleID, offset: Int64, byteCount: Int, by caller: Caller
    ) throws(FileError) -> Answer<ByteSource> {
        let handle = try files.open.handle(id)
        handle.inode.noteUse()
        return try source(handle, offset: offset, byteCount: byteCount, by: caller)
    }

    private func source(
        _ handle: OpenHandle, offset: Int64, byteCount: Int, by caller: Caller
    ) throws(FileError) -> Answer<ByteSource> {
        if let descriptor = handle.inode.readable {
            return .ready(.file(FileBytes(descriptor: descriptor, offset: offset, byteCount: byteCount)))
        }
        try reading.rules.admit(
            handle.process(of: caller), thread: caller.thread, readingTo: offset + Int64(byteCount), to: handle)
        let number = handle.inode.number
        if let download = reading.downloads.active(number) {
            handle.noteDemand()
            return bytes(of: download, for: handle, offset: offset, byteCount: byteCount)
        }
        // Read once for everything that follows: this is on the path to the first byte.
        let inode = try replica.look { try $0.inode(number) }
        if let wait = try stormWait(handle, inode, by: caller) {
            return .pending { [self] () async throws(FileError) in
                try await wait()
                handle.noteDemand()
                return try await sourceNow(handle, offset: offset, byteCount: byteCount, by: caller)
            }
        }
        if inode.isContentUnknown {
            return .pending { [self] () async throws(FileError) in
                try await reading.downloads.learnContent(of: number)
                return try await sourceNow(handle, offset: offset, byteCount: byteCount, by: caller)
            }
        }
        guard
            let download = try reading.downloads.begin(
                number, inode, wanted: offset..<offset + Int64(byteCount),
                because: .reading(handle.process(of: caller)))
        else {
            // The range arrived in between.
            return .ready(try arrivedSource(handle, offset: offset, byteCount: byteCount))
        }
        return bytes(of: download, for: handle, offset: offset, byteCount: byteCount)
    }

    /// Retries after a wait.
    private func sourceNow(
        _ handle: OpenHandle, offset: Int64, byteCount: Int, by caller: Caller
    ) async throws(FileError) -> ByteSource {
        return try await source(handle, offset: offset, byteCount: byteCount, by: caller).value
    }

    private func bytes(
        of download: Download, for handle: OpenHandle, offset: Int64, byteCount: Int
    ) -> Answer<ByteSource> {
        let range = offset..<(offset + Int64(byteCount))
        let staged = FileBytes(descriptor: download.staging, offset: offset, byteCount: byteCount)
        if download.has(range) { return .ready(.file(staged)) }
        return .pending { [self] () async throws(FileError) in
            do throws(FileError) {
                if let bytes = try await download.wait(for: range) { return .memory(bytes) }
                return .file(staged)
            } catch {
                // Truncated in between, which ends the download: the reader gets what is there now.
                guard [.cancelled, .superseded].contains(error.code),
                    try replica.look({ try $0.isLocal(handle.inode.number) })
                else {
                    throw error
                }
                return try arrivedSource(handle, offset: offset, byteCount: byteCount)
            }
        }
    }

    /// Waits while the reading process exceeds the download limit; `nil` when the read may proceed. Once for each open
    /// file, and only if the download was not requested before.
    private func stormWait(
        _ handle: OpenHandle, _ inode: Inode, by caller: Caller
    ) throws(FileError) -> (@Sendable () async throws(FileError) -> Void)? {
        guard !handle.hasDemanded else { return nil }
        if try !replica.look({ try $0.isDownloadRequested(handle.inode.number) }),
            let wait = try reading.throttle.admit(handle.process(of: caller), byteCount: inode.attributes.size)
        {
            return wait
        }
        handle.noteDemand()
        return nil
    }

    private func arrivedSource(_ handle: OpenHandle, offset: Int64, byteCount: Int) throws(FileError) -> ByteSource {
        if handle.inode.readable == nil, let descriptor = try localBytes(handle.inode.number) {
            handle.inode.arrived(descriptor)
        }
        guard let descriptor = handle.inode.readable else {
            throw FileError(.superseded, "\(handle.inode.number) was evicted while it was being opened")
        }
        return .file(FileBytes(descriptor: descriptor, offset: offset, byteCount: byteCount))
    }

    /// Related: lseek(2) with `SEEK_HOLE` or `SEEK_DATA`.
    package func seek(_ id: HandleID, offset: Int64, whence: Int32) throws(FileError) -> Int64 {
        let handle = try files.open.handle(id)
        if let descriptor = handle.inode.readable {
            return try descriptor.seek(offset: offset, whence: whence)
        }
        // Not local: its holes are those of its content.
        let inode = try replica.look { try $0.inode(handle.inode.number) }
        let size = inode.attributes.size
        guard offset >= 0, offset < size else { throw FileError(.noSuchOffset, "\(offset) is past the end") }
        let runs = try inode.content?.runs ?? []
        let wantsData = whence == CLinux_SEEK_DATA
        var start: Int64 = 0
        for run in runs {
            let end = start + run.byteCount
            if end > offset, run.isData == wantsData { return max(offset, start) }
            start = end
        }
        if wantsData && !runs.isEmpty { throw FileError(.noSuchOffset, "no data after \(offset)") }
        return wantsData ? offset : size
    }
}

extension ByteSource {
    /// Exceeds the available bytes only at the end of the file.
    package var byteCount: Int {
        switch self {
        case .file(let file): file.byteCount
        case .memory(let bytes): bytes.count
        }
    }

    package func bytes() throws(FileError) -> [UInt8] {
        switch self {
        case .file(let file): try file.descriptor.read(byteCount: file.byteCount, at: file.offset)
        case .memory(let bytes): Array(bytes)
        }
    }
}
