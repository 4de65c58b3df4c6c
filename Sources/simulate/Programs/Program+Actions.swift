import FileSystem
import Glibc
import Model
import Replica

extension Program {
    enum Action: CaseIterable {
        case create, overwrite, append, truncate, empty, save, writeOpen, readOpen, close, synchronize
        case makeDirectory, removeDirectory, remove, rename, renameDirectory, exchange, link, makeLink
        case chmod, setTime, setAttribute, copy
        case read, list, evict, download, pin, unpin, sync

        /// Actions that change nothing that others see.
        static let reading: [Action] = [.read, .read, .list, .evict, .download, .pin, .unpin, .sync]
        /// Frequent actions are listed several times.
        static let all: [Action] =
            allCases + [
                .create, .create, .create, .overwrite, .overwrite, .overwrite, .append, .save, .save, .writeOpen,
                .writeOpen,
                .makeDirectory, .remove, .rename, .rename, .read, .evict, .download,
            ]
    }

    mutating func perform(_ action: Action) async throws {
        switch action {
        case .create: try await create()
        case .overwrite: try await overwrite()
        case .append: try await append()
        case .truncate: try await truncate()
        case .empty: try await empty()
        case .save: try await save()
        case .writeOpen: try await writeOpen()
        case .readOpen: try await readOpen()
        case .close: try await closeOne()
        case .synchronize: try await synchronize()
        case .makeDirectory: try makeDirectory()
        case .removeDirectory: try removeDirectory()
        case .remove: try await remove()
        case .rename: try await rename([.file, .symbolicLink], mode: random.happens(0.8) ? .replace : .noReplace)
        case .renameDirectory: try await rename([.directory], mode: .replace)
        case .exchange: try await exchange()
        case .link: try link()
        case .makeLink: try await makeLink()
        case .chmod: try chmod()
        case .setTime: try setTime()
        case .setAttribute: try await setAttribute()
        case .copy: try await copy()
        case .read: try await read()
        case .list: try list()
        case .evict: try await evict()
        case .download: try await download()
        case .pin: try setPinned(true)
        case .unpin: try setPinned(false)
        case .sync: try await sync()
        }
    }

    // MARK: Opening and closing

    private mutating func open(_ number: InodeNumber, _ flags: Int32) async throws -> OpenFile {
        world.trace.note("\(device.name) opens \(number) \(try fileSystem.replica.path(of: number)), flags \(flags)")
        let request = OpenRequest(inode: number, flags: flags, caller: caller)
        let opened = try await device.value(of: fileSystem.open(request))
        return OpenFile(handle: opened.handle, inode: number, flags: flags)
    }

    /// Closes a file, or keeps it for later.
    private mutating func finish(_ file: OpenFile) async throws {
        if random.happens(0.3) { try await synchronize(file) }
        guard random.happens(0.25) else { return try await close(file) }
        files.append(file)
        if files.count > Self.openLimit { try await close(files.removeFirst()) }
    }

    private mutating func close(_ file: OpenFile) async throws {
        defer { try? fileSystem.release(file.handle, flockOwner: nil, by: caller) }
        try fileSystem.flush(file.handle, lockOwner: 0, by: caller)
    }

    mutating func closeAll() async {
        // A file that cannot be closed ends with the daemon.
        while let file = files.popLast() { try? await close(file) }
    }

    private func synchronize(_ file: OpenFile) async throws {
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

    private mutating func write(_ file: OpenFile, _ what: String) async throws {
        let before = try device.content(of: file.inode)
        let cell = file.flags & O_APPEND != 0 ? before.count : cell(in: before)
        let tokens = tokens("\(what) from cell \(cell)")
        var after = before
        after.write(tokens, at: cell)
        let bytes = FileContent.bytes(of: tokens)
        let offset = Int64(cell * FileContent.cellByteCount)
        let limit = interruption()
        try await change(before: [before], after: [after], of: file.inode) {
            let answer = try bytes.withUnsafeBytes {
                try fileSystem.write(file.handle, offset: offset, bytes: $0, fromPageCache: false, by: caller)
            }
            guard try await device.value(of: answer, limit: limit) == bytes.count else {
                throw Violation("\(device.name): a short write")
            }
        }
    }

    /// After how long the user interrupts an operation, occasionally.
    private mutating func interruption() -> Duration? { random.happens(0.1) ? random.milliseconds(0...3000) : nil }

    private mutating func create() async throws {
        let place = try place(existing: 0)
        guard place.attributes == nil else { throw FileError(.exists, "\(place)") }
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(place.name, in: place.parent, mode: 0o644, flags: O_RDWR, by: caller))
        let file = OpenFile(handle: opened.handle, inode: attributes.inode, flags: O_RDWR)
        if random.happens(0.9) { try await write(file, "creates \(place)") }
        try await finish(file)
    }

    private mutating func overwrite() async throws {
        let (place, number) = try takenFile()
        let file = try await open(number, O_RDWR)
        do { try await write(file, "writes \(place)") } catch {
            try await close(file)
            throw error
        }
        try await finish(file)
    }

    private mutating func append() async throws {
        let (place, number) = try takenFile()
        let file = try await open(number, O_WRONLY | O_APPEND)
        do { try await write(file, "appends to \(place)") } catch {
            try await close(file)
            throw error
        }
        try await finish(file)
    }

    private mutating func truncate() async throws {
        let (_, number) = try takenFile()
        let before = try device.content(of: number)
        var after = before
        after.truncate(to: random.number(0...before.count + 1))
        let byteCount = after.byteCount
        let file = random.happens(0.5) ? try await open(number, O_RDWR) : nil
        do {
            try await change(before: [before], after: [after], of: number) {
                _ = try await device.value(
                    of: fileSystem.setSize(of: number, to: byteCount, handle: file?.handle, by: caller))
            }
        } catch {
            if let file { try await close(file) }
            throw error
        }
        if let file { try await finish(file) }
    }

    /// Opens for truncation, and usually rewrites the file.
    private mutating func empty() async throws {
        let (place, number) = try takenFile()
        let before = try device.content(of: number)
        var file: OpenFile?
        try await change(before: [before], after: [.empty], of: number) {
            file = try await open(number, O_RDWR | O_TRUNC)
        }
        guard let file else { return }
        if random.happens(0.8) { try await write(file, "rewrites \(place)") }
        try await finish(file)
    }

    /// Saves like an editor: everything into a temporary file, which is renamed over the old one.
    private mutating func save() async throws {
        let place = try place(existing: 0.8)
        if let attributes = place.attributes, attributes.kind != .file { throw FileError(.isDirectory, "\(place)") }
        var content = FileContent.empty
        if let old = place.attributes { content = try device.content(of: old.inode) }
        content.truncate(to: min(content.count, 8))
        let temporary = try ItemName(".\(place.name.pathExtension)-\(random.number(0...9)).tmp")
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(temporary, in: place.parent, mode: 0o644, flags: O_RDWR, by: caller))
        let file = OpenFile(handle: opened.handle, inode: attributes.inode, flags: O_RDWR)
        do {
            content.write(tokens("saves \(place)"), at: random.number(0...content.count))
            // Bytes that were not written again are removed with the old file; those that were read from it are a copy.
            let bytes = FileContent.bytes(ofCellsIn: content)
            try await change(before: [], after: [content], of: file.inode) {
                let answer = try bytes.withUnsafeBytes {
                    try fileSystem.write(file.handle, offset: 0, bytes: $0, fromPageCache: false, by: caller)
                }
                _ = try await device.value(of: answer)
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

    private mutating func writeOpen() async throws {
        let writable = files.filter(\.isWritable)
        guard !writable.isEmpty else { throw FileError(.notFound, "no file is open for writing") }
        try await write(random.pick(writable), "writes an open file")
    }

    private mutating func closeOne() async throws {
        guard !files.isEmpty else { throw FileError(.notFound, "no file is open") }
        try await close(files.remove(at: random.number(0...files.count - 1)))
    }

    private mutating func synchronize() async throws {
        guard !files.isEmpty else { return try fileSystem.syncDirectory(.root) }
        try await synchronize(random.pick(files))
    }

    private mutating func copy() async throws {
        let (source, number) = try takenFile()
        let target = try place(existing: 0)
        guard target.attributes == nil else { throw FileError(.exists, "\(target)") }
        let original = try await open(number, O_RDONLY)
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(target.name, in: target.parent, mode: 0o644, flags: O_WRONLY, by: caller))
        let duplicate = OpenFile(handle: opened.handle, inode: attributes.inode, flags: O_WRONLY)
        do { try await copy(original, to: duplicate) } catch {
            try await close(original)
            try await close(duplicate)
            world.trace.note("\(device.name) copied \(source) to \(target) in part")
            throw error
        }
        if !device.isDead {
            let content = try device.content(of: duplicate.inode)
            world.model.noteCopy(of: content, as: target.name, on: device.name)
        }
        try await close(original)
        try await finish(duplicate)
    }

    private mutating func copy(_ source: OpenFile, to target: OpenFile) async throws {
        var done: Int64 = 0
        while true {
            let before = try device.content(of: target.inode)
            let whole = try device.content(of: source.inode)
            let wanted = min(whole.byteCount - done, Int64(Content.chunkByteCount))
            guard wanted > 0 else { return }
            var after = whole
            after.truncate(to: Int(done + wanted) / FileContent.cellByteCount)
            // A whole file that is not local is copied at once, whatever its size; so the outcome is checked.
            let isLocal = try fileSystem.replica.isLocal(source.inode)
            let isShared = done == 0 && !isLocal
            if isShared { after = whole }
            try await change(before: [before], after: [after]) {
                let count = try await device.value(
                    of: fileSystem.copyRange(
                        from: source.handle, offset: done, to: target.handle, offset: done, byteCount: 1 << 30,
                        by: caller))
                done += Int64(count)
                guard count > 0 else { throw Violation("\(device.name): a copy ends early, at byte \(done)") }
            }
            guard !device.isDead else { return }
            var shown = whole
            shown.truncate(to: Int(done) / FileContent.cellByteCount)
            guard try device.content(of: target.inode) == shown else {
                throw Violation("\(device.name): a copy is not like its original")
            }
            // Bytes that were accounted for but not copied now are copied by the next call.
            if shown != after { world.model.note(.done, before: [after], after: [shown]) }
        }
    }

    // MARK: Reading

    private mutating func read() async throws {
        let (place, number) = try takenFile()
        let file = try await open(number, O_RDONLY)
        do { try await read(file, "\(place)") } catch {
            try await close(file)
            throw error
        }
        if random.happens(0.2), files.count < Self.openLimit { files.append(file) } else { try await close(file) }
    }

    private mutating func readOpen() async throws {
        let readable = files.filter { $0.flags & O_ACCMODE != O_WRONLY }
        guard !readable.isEmpty else { throw FileError(.notFound, "no file is open for reading") }
        try await read(random.pick(readable), "an open file")
    }

    private mutating func read(_ file: OpenFile, _ what: String) async throws {
        let limit = interruption()
        let bytes = try await device.read(file.handle, by: caller, limit: limit)
        guard !device.isDead else { return }
        let content = try FileContent(bytes: bytes)
        guard world.model.hadFile(content) else {
            throw Violation("\(device.name) reads from \(what) what no file ever held: \(content)")
        }
    }

    private mutating func list() throws {
        let (place, attributes) = try taken([.directory])
        for child in try fileSystem.names(of: attributes.inode) {
            guard child.kind == (try fileSystem.attributes(of: child.inode).kind) else {
                throw Violation("\(device.name): \(place)/\(child.name) has two kinds")
            }
        }
    }

    private mutating func evict() async throws {
        let (place, attributes) = try taken([.file, .file, .directory])
        let before = try device.content(of: attributes.inode)
        let fileSystem = try fileSystem
        let path = try fileSystem.replica.path(of: attributes.inode)
        try await device.value(limit: interruption()) { () async throws(FileError) in try await fileSystem.evict(path) }
        guard !device.isDead, attributes.kind == .file,
            let shown = try? device.content(of: attributes.inode)
        else { return }
        if shown != before, !world.model.hadFile(shown) {
            throw Violation("\(device.name): evicting \(place) changes it to \(shown)")
        }
    }

    private mutating func download() async throws {
        let (_, attributes) = try taken([.file, .file, .directory])
        let fileSystem = try fileSystem
        let path = try fileSystem.replica.path(of: attributes.inode)
        let waits = random.happens(0.6)
        try await device.value(limit: interruption()) { () async throws(FileError) in
            try await fileSystem.download(path, wait: waits)
        }
    }

    private mutating func setPinned(_ isPinned: Bool) throws {
        let (_, attributes) = try taken()
        try fileSystem.setPinned(try fileSystem.replica.path(of: attributes.inode), isPinned)
    }

    private mutating func sync() async throws {
        let fileSystem = try fileSystem
        try await device.value(limit: random.milliseconds(0...60_000)) { () async throws(FileError) in
            try await fileSystem.sync(wait: true)
        }
    }
}

extension FileContent {
    /// The whole file, with zeros where nothing was written.
    static func bytes(ofCellsIn content: FileContent) -> [UInt8] {
        (0..<content.count).flatMap { cell -> [UInt8] in
            guard let token = content.cells[cell] else { return Array(repeating: 0, count: cellByteCount) }
            return bytes(of: [token])
        }
    }
}
