import FileSystem
import Glibc
import Model
import Replica

/// Opening, writing and closing files.
extension Program {
    // MARK: Opening and closing

    mutating func open(_ number: InodeNumber, _ flags: Int32) async throws -> OpenFile {
        note(try await device.value(of: try request(number, flags)), number, flags)
    }

    private func request(_ number: InodeNumber, _ flags: Int32) throws -> Answer<OpenedFile> {
        world.trace.note(
            "\(label) opens \(number) \(try fileSystem.replica.read { try $0.path(of: number) }), flags \(flags)")
        return try fileSystem.open(OpenRequest(inode: number, flags: flags, caller: caller))
    }

    func note(_ opened: OpenedFile, _ number: InodeNumber, _ flags: Int32) -> OpenFile {
        if !isCutOff { device.programs.opened(opened.handle, of: number) }
        return OpenFile(handle: opened.handle, inode: number, flags: flags)
    }

    /// Closes a file, or keeps it for later.
    mutating func finish(_ file: OpenFile) async throws {
        if random.happens(0.3) { try await synchronize(file) }
        guard random.happens(0.25) else { return try await close(file) }
        files.append(file)
        if files.count > Self.openLimit { try await close(files.removeFirst()) }
    }

    func close(_ file: OpenFile) async throws {
        let fileSystem = try fileSystem
        defer {
            fileSystem.release(file.handle, flockOwner: nil, by: caller)
            device.programs.closed(file.handle)
        }
        try fileSystem.flush(file.handle, lockOwner: 0, by: caller)
    }

    mutating func closeAll() async {
        // A file that cannot be closed ends with the daemon.
        while let file = files.popLast() { try? await close(file) }
    }

    func synchronize(_ file: OpenFile) async throws {
        try fileSystem.sync(file.handle, by: caller)
    }

    // MARK: Bytes

    private mutating func tokens(_ what: String) -> [Token] {
        (0..<random.number(1...4)).map { _ in token(what) }
    }

    /// A cell to write at: in the file, behind its end, and in large files behind a hole.
    private mutating func cell(in content: FileContent) -> Int {
        if world.scenario.hasLargeFiles, random.happens(0.3) {
            return random.number(0...2) * (Content.chunkByteCount / FileContent.cellByteCount) + random.number(0...3)
        }
        return random.number(0...min(content.count, 6) + (random.happens(0.1) ? 3 : 0))
    }

    mutating func write(_ file: OpenFile, _ what: String) async throws {
        let before = try device.content(of: file.inode)
        let appends = file.flags & O_APPEND != 0
        let cell = appends ? before.count : cell(in: before)
        let tokens = tokens("\(what) from cell \(cell)")
        let bytes = FileContent.bytes(of: tokens)
        let offset = Int64(cell * FileContent.cellByteCount)
        let look = { @Sendable [device] () throws -> Sight in
            let before = try device.content(of: file.inode)
            var after = before
            after.write(tokens, at: appends ? before.count : cell)
            return Sight(before: [before], after: [after])
        }
        let (count, _) = try await change(of: file.inode, limit: interruption(), look) {
            try bytes.withUnsafeBytes {
                try fileSystem.write(file.handle, offset: offset, bytes: $0, fromPageCache: false, by: caller)
            }
        }
        guard count == bytes.count else { throw Violation("\(label): a short write") }
    }

    /// After how long the user interrupts an operation, occasionally.
    mutating func interruption() -> Duration? { random.happens(0.1) ? random.milliseconds(0...3000) : nil }

    mutating func create() async throws {
        let place = try place(existing: 0)
        guard place.attributes == nil else { throw FileError(.exists, "\(place)") }
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(place.name, in: place.parent, mode: 0o644, flags: O_RDWR, by: caller))
        let file = note(opened, attributes.inode, O_RDWR)
        if random.happens(0.9) { try await write(file, "creates \(place)") }
        try await finish(file)
    }

    mutating func overwrite(_ place: ResolvedPath? = nil) async throws {
        let (place, number) = try place.map(Self.file) ?? takenFile()
        let file = try await open(number, O_RDWR)
        do { try await write(file, "writes \(place)") } catch {
            try await close(file)
            throw error
        }
        try await finish(file)
    }

    mutating func append() async throws {
        let (place, number) = try takenFile()
        let file = try await open(number, O_WRONLY | O_APPEND)
        do { try await write(file, "appends to \(place)") } catch {
            try await close(file)
            throw error
        }
        try await finish(file)
    }

    mutating func truncate() async throws {
        let (_, number) = try takenFile()
        let count = random.number(0...(try device.content(of: number)).count + 1)
        let file = random.happens(0.5) ? try await open(number, O_RDWR) : nil
        let look = { @Sendable [device] () throws -> Sight in
            let before = try device.content(of: number)
            var after = before
            after.truncate(to: count)
            return Sight(before: [before], after: [after])
        }
        do {
            let byteCount = Int64(count * FileContent.cellByteCount)
            _ = try await change(of: number, look) {
                try fileSystem.setSize(of: number, to: byteCount, handle: file?.handle, by: caller)
            }
        } catch {
            if let file { try await close(file) }
            throw error
        }
        if let file { try await finish(file) }
    }

    /// Opens for truncation, and usually rewrites the file.
    mutating func empty(_ place: ResolvedPath? = nil) async throws {
        let (place, number) = try place.map(Self.file) ?? takenFile()
        let flags = O_RDWR | O_TRUNC
        let look = { @Sendable [device] () throws -> Sight in
            Sight(before: [try device.content(of: number)], after: [.empty])
        }
        let (opened, _) = try await change(of: number, look) { try request(number, flags) }
        let file = note(opened, number, flags)
        if random.happens(0.8) { try await write(file, "rewrites \(place)") }
        try await finish(file)
    }

    /// Saves like an editor: everything into a temporary file, which is renamed over the old one.
    mutating func save(_ place: ResolvedPath? = nil) async throws {
        let place = try place ?? self.place(existing: 0.8)
        if let attributes = place.attributes, attributes.kind != .file { throw FileError(.isDirectory, "\(place)") }
        var content = FileContent.empty
        if let old = place.attributes { content = try device.content(of: old.inode) }
        content.truncate(to: min(content.count, 8))
        let temporary = try ItemName(".\(place.name.pathExtension)-\(random.number(0...9)).tmp")
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(temporary, in: place.parent, mode: 0o644, flags: O_RDWR, by: caller))
        let file = note(opened, attributes.inode, O_RDWR)
        do {
            content.write(tokens("saves \(place)"), at: random.number(0...content.count))
            // Bytes that were not written again are removed with the old file; those that were read from it are a copy.
            let bytes = FileContent.bytes(ofCellsIn: content)
            let look = { @Sendable [device, content] () throws -> Sight in
                let before = try device.content(of: file.inode)
                return Sight(before: before == .empty ? [] : [before], after: [before.overlaid(by: content)])
            }
            _ = try await change(of: file.inode, look) {
                try bytes.withUnsafeBytes {
                    try fileSystem.write(file.handle, offset: 0, bytes: $0, fromPageCache: false, by: caller)
                }
            }
            if random.happens(0.5) { try await synchronize(file) }
        } catch {
            try await close(file)
            throw error
        }
        if random.happens(0.8) { try await close(file) } else { files.append(file) }
        try await move(
            try self.place(temporary, in: place.parent, path: place.directory),
            to: try self.place(place.name, in: place.parent, path: place.directory), mode: .replace)
    }

    mutating func writeOpen() async throws {
        let writable = files.filter(\.isWritable)
        guard !writable.isEmpty else { throw FileError(.notFound, "no file is open for writing") }
        try await write(random.pick(writable), "writes an open file")
    }

    mutating func closeOne() async throws {
        guard !files.isEmpty else { throw FileError(.notFound, "no file is open") }
        try await close(files.remove(at: random.number(0...files.count - 1)))
    }

    mutating func synchronize() async throws {
        guard !files.isEmpty else { return try fileSystem.syncDirectory(.root) }
        try await synchronize(random.pick(files))
    }

    /// A file that was chosen already.
    static func file(_ place: ResolvedPath) throws -> (ResolvedPath, InodeNumber) {
        guard let attributes = place.attributes else { throw FileError(.notFound, "\(place)") }
        guard attributes.kind == .file else { throw FileError(.isDirectory, "\(place)") }
        return (place, attributes.inode)
    }
}

extension FileContent {
    /// The file after another one's cells were written over it, without an end of those all.
    func overlaid(by other: FileContent, cells range: Range<Int>? = nil) -> FileContent {
        let range = (range ?? 0..<other.count).clamped(to: 0..<max(other.count, 0))
        var content = self
        for cell in range { content.cells[cell] = other.cells[cell] }
        if !range.isEmpty { content.count = max(content.count, range.upperBound) }
        return content
    }

    /// The whole file, with zeros where nothing was written.
    static func bytes(ofCellsIn content: FileContent) -> [UInt8] {
        (0..<content.count).flatMap { cell -> [UInt8] in
            guard let token = content.cells[cell] else { return Array(repeating: 0, count: cellByteCount) }
            return bytes(of: [token])
        }
    }
}
