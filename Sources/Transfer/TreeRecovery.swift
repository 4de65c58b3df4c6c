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
        self.target = try Descriptor(target, O_RDONLY | O_DIRECTORY, as: target)
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
        let found = try firstFree(wanted, path: path) { name, detail throws(FileError) -> Descriptor? in
            if try hasSame(name, in: target, file, status) { return nil }
            let place = Place(directory: target, name: name)
            return try SystemCalls.open(place, O_RDWR | O_CREAT | O_EXCL, mode: 0o600, as: detail)
        }
        guard let (copy, text) = found else { return }
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
        let made = try firstFree(wanted, path: path) { name, detail throws(FileError) -> Int32? in
            var known = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = CLinux_readlinkat(target.rawValue, name, &known, known.count)
            if count >= 0, known.prefix(count).elementsEqual(link) { return nil }
            return try SystemCalls.check("symlink", as: detail) { symlinkat(text, target.rawValue, name) }
        }
        if let made, !isNew { report.paths.append(made.path) }
    }

    // MARK: Names

    /// A directory of the target, made if it is missing; a numbered one where something else has the name.
    private mutating func makeDirectory(
        _ name: [UInt8], in target: Descriptor, path: String
    ) throws(FileError) -> (descriptor: Descriptor, path: String, isNew: Bool) {
        let wanted = try realName(name, in: target)
        var isNew = false
        let found = try firstFree(wanted, path: path) { name, detail throws(FileError) -> Descriptor? in
            let place = Place(directory: target, name: name)
            do throws(FileError) { return try SystemCalls.open(place, O_RDONLY | O_DIRECTORY, as: detail) } catch {
                // Of the right kind or not known: not to be passed over for a second directory beside it.
                guard [ENOENT, ENOTDIR, ELOOP].contains(error.number) else { throw error }
            }
            try SystemCalls.check("mkdir", as: detail) { mkdirat(target.rawValue, name, 0o700) }
            isNew = true
            return try SystemCalls.open(place, O_RDONLY | O_DIRECTORY, as: detail)
        }
        guard let found else { throw FileError(.notFound, "\(path) was removed meanwhile") }
        return (found.result, found.path, isNew)
    }

    /// Makes an item under the first name that is free, unless it is there already: also under one of the names with
    /// numbers, where an earlier recovery has put it.
    ///
    /// - Parameter attempt: Gets a name, and what people are told of a failed call. Returns `nil` when what was to be
    ///   made is there, and throws `exists` when something else has the name.
    /// - Returns: `nil` when it is there.
    private func firstFree<Value>(
        _ name: String, path: String, _ attempt: (String, String) throws(FileError) -> Value?
    ) throws(FileError) -> (result: Value, path: String)? {
        let item = try ItemName(name)
        for number in 1...FreeName.stepLimit {
            let candidate = try number == 1 ? item : FreeName.candidate(item, number: number)
            do throws(FileError) {
                guard let result = try attempt(candidate.string, "open or create \(candidate)") else { return nil }
                let above = ItemPath(path).components.dropLast().map(String.init)
                return (result, (above + [candidate.string]).joined(separator: "/"))
            } catch {
                guard error.code == .exists else { throw error }
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
        let place = Place(directory: target, name: name)
        let other: SourceDirectory.Status
        do throws(FileError) { other = SourceDirectory.Status(try SystemCalls.entry(place)) } catch {
            guard error.code == .notFound else { throw error }
            return false
        }
        guard other.kind == .file, other.size == status.size else { return false }
        if other.modified == status.modified { return true }
        let present = try SystemCalls.open(place, O_RDONLY | O_NONBLOCK)
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
            if !piece.allSatisfy({ $0 == 0 }) { try copy.write(piece, at: offset, as: "write") }
            offset += Int64(piece.count)
        }
        try copy.truncate(to: offset)
    }

    private static let exclusion = "user.dewpoint.isExcludedFromSync"

    /// What a user excluded from sync stays excluded. An item of the container is not there yet at this time.
    private func keepExclusion(of item: Descriptor, to copy: Descriptor) throws(FileError) {
        guard item.extendedAttribute(Self.exclusion) == Array("1".utf8) else { return }
        try copy.setExtendedAttribute(Self.exclusion, to: Array("1".utf8))
    }

    private mutating func finish(
        _ copy: Descriptor, _ status: SourceDirectory.Status, _ attributes: [AttributeName: Data], path: String
    ) throws(FileError) {
        for (name, value) in attributes.sorted(by: { $0.key.string.utf8.lexicographicallyPrecedes($1.key.string.utf8) })
        {
            do throws(FileError) { try copy.setExtendedAttribute(name.string, to: Array(value)) } catch {
                report.problems.append("\(path) is without its attribute \(name.string)")
            }
        }
        try copy.setMode(status.mode)
        try copy.setTimes(accessed: status.modified, modified: status.modified)
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
