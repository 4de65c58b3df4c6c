import CLinux
import Foundation
import Glibc
package import Model
import Replica
import Linux

/// Copies items into a mounted container, at the paths that they have in another directory, and replaces nothing there.
///
/// An item that is there already is left alone. Where another one has its name, the copy gets a name with a number.
package struct TreeRecovery {
    private let source: SourceDirectory
    private let target: Descriptor
    private let isBacking: Bool
    private var report = CopiedItems()

    /// The unit of copying and comparing: 1 MiB.
    private static let pieceByteCount = 1 << 20

    /// - Parameters:
    ///   - isBacking: Whether the source is `files/` of a state: its placeholders are left out, and escaped names are
    ///     those of the items in the container that have them. See ``PlaceholderName``.
    package init(from source: String, to target: String, isBacking: Bool) throws(FileError) {
        self.source = try SourceDirectory(source)
        let raw = Glibc.open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw FileError(systemCall: errno, target) }
        self.target = Descriptor(owning: raw)
        self.isBacking = isBacking
    }

    /// Copies everything. Blocks.
    ///
    /// - Throws: `diskFull`, `overQuota`; what concerns one item is reported.
    package mutating func copyAll() throws(FileError) -> CopiedItems {
        try copyContents(of: source, to: target, isNew: false)
        return report
    }

    /// Copies the items at some paths, with everything below them. Directories above them that are missing are made.
    package mutating func copy(_ paths: [String]) throws(FileError) -> CopiedItems {
        for path in paths {
            var names = ItemPath(path).components.map { Array($0.utf8) }
            guard let last = names.popLast() else { continue }
            do {
                var (from, to) = (source, target)
                for name in names {
                    let inner = try from.directory(name)
                    to = try makeDirectory(name, in: to, path: inner.path).descriptor
                    from = inner
                }
                try copyItem(last, from, to, isNew: false)
            } catch {
                try note(error, path)
            }
        }
        return report
    }

    // MARK: Items

    private mutating func copyContents(
        of directory: SourceDirectory, to target: Descriptor, isNew: Bool
    ) throws(FileError) {
        for name in try directory.names() {
            do { try copyItem(name, directory, target, isNew: isNew) } catch {
                try note(error, directory.path(of: name))
            }
        }
    }

    /// - Parameter isNew: Whether the target is in a directory that was copied, and so is reported.
    private mutating func copyItem(
        _ name: [UInt8], _ directory: SourceDirectory, _ target: Descriptor, isNew: Bool
    ) throws(FileError) {
        let status = try directory.status(name)
        let path = directory.path(of: name)
        switch status.kind {
        case .directory:
            let inner = try directory.directory(name)
            let made = try makeDirectory(name, in: target, path: path)
            if made.isNew {
                try keepExclusion(of: try directory.openDirectory(name), to: made.descriptor)
                if !isNew { report.paths.append(made.path) }
            }
            try copyContents(of: inner, to: made.descriptor, isNew: isNew || made.isNew)
            if made.isNew {
                try finish(
                    made.descriptor, status, try directory.attributes(ofDirectory: name), path: path)
            }
        case .file: try copyFile(name, directory, target, isNew: isNew)
        case .symbolicLink:
            try copyLink(name, try directory.target(of: name), target, path: path, isNew: isNew)
        case .fifo, .socket, .characterDevice, .blockDevice: break
        }
    }

    private mutating func copyFile(
        _ name: [UInt8], _ directory: SourceDirectory, _ target: Descriptor, isNew: Bool
    ) throws(FileError) {
        let path = directory.path(of: name)
        let (file, status) = try directory.file(name)
        guard status.kind == .file, try !isPlaceholder(name, file, status) else { return }
        let wanted = try realName(name, in: target)
        let found = try firstFree(wanted, path: path) { name throws(FileError) in
            if try hasSame(name, in: target, file, status) { return .present }
            return .init(openat(target.rawValue, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600))
        }
        guard let (made, text) = found else { return }
        let copy = Descriptor(owning: made)
        do {
            try keepExclusion(of: file, to: copy)
            try copyBytes(file, copy, status.size)
            try finish(copy, status, try SourceDirectory.attributes(of: file), path: path)
        } catch {
            // Half of a file looks like a whole one.
            unlinkat(target.rawValue, ItemPath(text).last.map(String.init) ?? text, 0)
            throw error
        }
        if !isNew { report.paths.append(text) }
    }

    private mutating func copyLink(
        _ name: [UInt8], _ link: [UInt8], _ target: Descriptor, path: String, isNew: Bool
    ) throws(FileError) {
        let wanted = try realName(name, in: target)
        let text = String(decoding: link, as: UTF8.self)
        let made = try firstFree(wanted, path: path) { name throws(FileError) in
            var known = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = CLinux_readlinkat(target.rawValue, name, &known, known.count)
            if count >= 0, known.prefix(count).elementsEqual(link) { return .present }
            return .init(symlinkat(text, target.rawValue, name))
        }
        if let made, !isNew { report.paths.append(made.path) }
    }

    // MARK: Names

    /// A directory of the target, made if it is missing; a numbered one where something else has the name.
    private mutating func makeDirectory(
        _ name: [UInt8], in target: Descriptor, path: String
    ) throws(FileError) -> (descriptor: Descriptor, path: String, isNew: Bool) {
        let wanted = try realName(name, in: target)
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        var isNew = false
        let found = try firstFree(wanted, path: path) { name throws(FileError) in
            let known = openat(target.rawValue, name, flags, 0)
            if known >= 0 { return .made(known) }
            // Of the right kind or not known: not to be passed over for a second directory beside it.
            guard [ENOENT, ENOTDIR, ELOOP].contains(errno) else { return .failed(errno) }
            guard mkdirat(target.rawValue, name, 0o700) == 0 else { return .init(-1) }
            isNew = true
            return .init(openat(target.rawValue, name, flags, 0))
        }
        guard let found else { throw FileError(.notFound, "\(path) was removed meanwhile") }
        return (Descriptor(owning: found.result), found.path, isNew)
    }

    /// What an attempt with one name came to.
    private enum Attempt {
        case made(Int32)
        /// What was to be made is there.
        case present
        /// Something else has the name.
        case taken
        case failed(Int32)

        /// - Parameter result: Of a system call; negative when it failed with `errno`.
        init(_ result: Int32) {
            self = result >= 0 ? .made(result) : errno == EEXIST ? .taken : .failed(errno)
        }
    }

    /// Makes an item under the first name that is free, unless it is there already: also under one of the names with
    /// numbers, where an earlier recovery has put it.
    ///
    /// - Returns: `nil` when it is there.
    private func firstFree(
        _ name: String, path: String, _ attempt: (String) throws(FileError) -> Attempt
    ) throws(FileError) -> (result: Int32, path: String)? {
        let item = try ItemName(name)
        for number in 1...FreeName.stepLimit {
            let candidate = try number == 1 ? item : FreeName.candidate(item, number: number)
            switch try attempt(candidate.string) {
            case .present: return nil
            case .taken: continue
            case .failed(let number): throw FileError(systemCall: number, "open or create \(candidate)")
            case .made(let result):
                let above = ItemPath(path).components.dropLast().map(String.init)
                return (result, (above + [candidate.string]).joined(separator: "/"))
            }
        }
        throw FileError(.exists, "\(name) and its numbered names are taken")
    }

    /// The name that an item has in the container.
    private func realName(_ name: [UInt8], in target: Descriptor) throws(FileError) -> String {
        guard let text = String(validating: name, as: UTF8.self) else {
            throw FileError(.notUTF8, "its name is not UTF-8")
        }
        guard isBacking, name.starts(with: ".dewpoint-".utf8), name.suffix(5).elementsEqual(".here".utf8) else {
            return text
        }
        let known = try SourceDirectory(descriptor: target).names().lazy.compactMap {
            String(validating: $0, as: UTF8.self).flatMap { try? ItemName($0) }
        }
        let found = known.first { PlaceholderName.backingName(of: $0).utf8.elementsEqual(name) }
        return found?.string ?? "Recovered"
    }

    private func isPlaceholder(
        _ name: [UInt8], _ file: Descriptor, _ status: SourceDirectory.Status
    ) throws(FileError) -> Bool {
        guard isBacking, PlaceholderName.looksLikePlaceholder(String(decoding: name, as: UTF8.self)),
            status.size <= PlaceholderFile.byteLimit
        else { return false }
        return PlaceholderFile(data: Data(try file.read(byteCount: Int(status.size), at: 0))) != nil
    }

    // MARK: Bytes

    /// Whether the target has a file with the same bytes. One of the same length and time is not downloaded to find out.
    private func hasSame(
        _ name: String, in target: Descriptor, _ file: Descriptor, _ status: SourceDirectory.Status
    ) throws(FileError) -> Bool {
        var known = stat()
        guard fstatat(target.rawValue, name, &known, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw FileError(systemCall: errno, "stat \(name)") }
            return false
        }
        let other = SourceDirectory.Status(known)
        guard other.kind == .file, other.size == status.size else { return false }
        if other.modified == status.modified { return true }
        let raw = openat(target.rawValue, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
        guard raw >= 0 else { throw FileError(systemCall: errno, "open \(name)") }
        let present = Descriptor(owning: raw)
        var offset: Int64 = 0
        while offset < status.size {
            let piece = try file.read(byteCount: Self.pieceByteCount, at: offset)
            guard !piece.isEmpty, try present.read(byteCount: piece.count, at: offset) == piece else { return false }
            offset += Int64(piece.count)
        }
        return true
    }

    private func copyBytes(_ file: Descriptor, _ copy: Descriptor, _ byteCount: Int64) throws(FileError) {
        var offset: Int64 = 0
        while offset < byteCount {
            let piece = try file.read(byteCount: Self.pieceByteCount, at: offset)
            guard !piece.isEmpty else { break }
            // Zeros are left as a hole: a disk image may be longer than the disk.
            var written = piece.allSatisfy { $0 == 0 } ? piece.count : 0
            while written < piece.count {
                let count = piece.withUnsafeBytes {
                    pwrite(copy.rawValue, $0.baseAddress! + written, piece.count - written, off_t(offset) + written)
                }
                guard count > 0 else { throw FileError(systemCall: count < 0 ? errno : EIO, "write") }
                written += count
            }
            offset += Int64(piece.count)
        }
        guard ftruncate(copy.rawValue, off_t(offset)) == 0 else { throw FileError(systemCall: errno, "ftruncate") }
    }

    private static let exclusion = "user.dewpoint.isExcludedFromSync"

    /// What a user excluded from sync stays excluded. An item of the container is not there yet at this time.
    private func keepExclusion(of item: Descriptor, to copy: Descriptor) throws(FileError) {
        guard item.extendedAttribute(Self.exclusion) == Array("1".utf8) else { return }
        guard CLinux_fsetxattr(copy.rawValue, Self.exclusion, "1", 1, 0) == 0 else {
            throw FileError(systemCall: errno, "setxattr \(Self.exclusion)")
        }
    }

    private mutating func finish(
        _ copy: Descriptor, _ status: SourceDirectory.Status, _ attributes: [AttributeName: Data], path: String
    ) throws(FileError) {
        for (name, value) in attributes.sorted(by: { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) })
        {
            let result = value.withUnsafeBytes {
                CLinux_fsetxattr(copy.rawValue, name.string, $0.baseAddress, value.count, 0)
            }
            if result != 0 { report.problems.append("\(path) is without its attribute \(name.string)") }
        }
        guard fchmod(copy.rawValue, mode_t(status.mode)) == 0 else { throw FileError(systemCall: errno, "fchmod") }
        let time = timespec(tv_sec: Int(status.modified.seconds), tv_nsec: Int(status.modified.nanoseconds))
        guard futimens(copy.rawValue, [time, time]) == 0 else { throw FileError(systemCall: errno, "futimens") }
    }

    /// An item that cannot be copied does not keep the others from being copied.
    private mutating func note(_ error: any Error, _ path: String) throws(FileError) {
        let error = (error as? FileError) ?? FileError(.inputOutput, "\(error)")
        switch error.code {
        case .diskFull, .overQuota: throw error
        default: report.problems.append("\(path) cannot be copied: \(error.detail)")
        }
    }
}
