import Control
import FileSystem
import Glibc
import Model
import Replica

/// Reading files, and what brings and evicts their bytes.
extension Program {
    mutating func read(_ place: ResolvedPath? = nil) async throws {
        let (place, number) = try place.map(Self.file) ?? takenFile()
        let file = try await open(number, O_RDONLY)
        do { try await read(file, "\(place)") } catch {
            try await close(file)
            throw error
        }
        if random.happens(0.2), files.count < Self.openLimit { files.append(file) } else { try await close(file) }
    }

    mutating func readOpen() async throws {
        let readable = files.filter { $0.flags & O_ACCMODE != O_WRONLY }
        guard !readable.isEmpty else { throw FileError(.notFound, "no file is open for reading") }
        try await read(random.pick(readable), "an open file")
    }

    mutating func read(_ file: OpenFile, _ what: String) async throws {
        let limit = interruption()
        let changeCount = device.programs.changeCount(of: file.inode)
        let bytes = try await device.read(file.handle, of: try fileSystem, by: caller, limit: limit)
        guard !isCutOff else { return }
        let isOneRead = bytes.count < SimulatedDevice.readUnit
        let content = try FileContent(bytes: bytes)
        // Others may write between two reads.
        guard isOneRead || device.programs.changeCount(of: file.inode) == changeCount else { return }
        guard world.model.hadFile(content) else {
            throw Violation("\(label) reads from \(what) what no file ever held: \(content)")
        }
    }

    mutating func list() throws {
        let (place, attributes) = try taken([.directory])
        for child in try fileSystem.names(of: attributes.inode) {
            guard child.kind == (try fileSystem.attributes(of: child.inode).kind) else {
                throw Violation("\(label): \(place)/\(child.name) has two kinds")
            }
        }
    }

    mutating func evict() async throws {
        let (place, attributes) = try taken([.file, .file, .directory])
        let before = try device.content(of: attributes.inode)
        let fileSystem = try fileSystem
        try await device.value(limit: interruption()) { () async throws(FileError) in
            var eviction = fileSystem.eviction()
            try await eviction.evict(attributes.inode)
        }
        guard !isCutOff, attributes.kind == .file,
            let shown = try? device.content(of: attributes.inode)
        else { return }
        if shown != before, !world.model.hadFile(shown) {
            throw Violation("\(label): evicting \(place) changes it to \(shown)")
        }
    }

    mutating func download() async throws {
        let (_, attributes) = try taken([.file, .file, .directory])
        let fileSystem = try fileSystem
        let waits = random.happens(0.6)
        try await device.value(limit: interruption()) { () async throws(FileError) in
            if waits {
                try await ItemCommands(fileSystem).download(attributes.inode, because: .command)
            } else {
                try ItemCommands(fileSystem).request(attributes.inode, because: .command)
            }
        }
    }

    mutating func setPinned(_ isPinned: Bool) throws {
        let (_, attributes) = try taken()
        try ItemCommands(fileSystem).setPinned(attributes.inode, isPinned)
    }

    mutating func sync() async throws {
        let fileSystem = try fileSystem
        try await device.value(limit: random.milliseconds(0...60_000)) { () async throws(FileError) in
            try await ContainerSync(fileSystem).sync(wait: true)
        }
    }
}
