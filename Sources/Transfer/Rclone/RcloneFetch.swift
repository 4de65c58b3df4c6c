import Foundation
import Glibc
import Linux
import Model
import Replica

/// Brings files of a remote into a private directory, a batch at a time, and verifies them.
///
///     batch ── rclone copy ──→ verified? ─┬─ yes ──→ fetched
///                                         └─ no ── rclone copyto, one file ──→ verified? ─┬─ yes ──→ fetched
///                                                          ↑          │                   └─ no, twice ──→ left out
///                                                          └──────────┴─ rclone fails: does the remote answer at all?
///
/// Each file is opened by descriptors below that directory, and no link is followed.
struct RcloneFetch: Sendable {
    /// How often one file is fetched by itself, after its batch.
    static let attemptLimit = 2
    /// How long a fetch may take: half an hour, and the time that its bytes take at the slowest rate.
    static let patience = Duration.seconds(1800)
    /// In bytes per second: 16 KiB.
    static let slowestRate: Int64 = 16 << 10
    /// How much of the disk stays free, for the index and for others: 64 MiB.
    static let reserveByteCount: Int64 = 64 << 20

    private let rclone: RcloneProgram
    private let remote: RcloneRemote
    private let features: RcloneFeatures
    private let parent: Descriptor
    private let parentPath: String

    /// One of the directories for batches: while the files in one are uploaded, the next batch goes into the other.
    enum Slot: String, CaseIterable {
        case even, odd

        init(_ number: Int) { self = number.isMultiple(of: 2) ? .even : .odd }
    }

    /// A file as it arrived.
    struct File: Sendable {
        fileprivate let root: SourceDirectory
        fileprivate let path: ItemPath

        func open() throws(FileError) -> Descriptor {
            let components = path.components.map { Array($0.utf8) }
            var directory = root
            for name in components.dropLast() { directory = try directory.directory(name) }
            let (file, status) = try directory.file(components.last ?? [])
            guard status.kind == .file else { throw FileError(.invalid, "it did not arrive as a file") }
            return file
        }
    }

    enum Outcome: Sendable {
        case fetched(File)
        /// - Parameter reason: For people.
        case failed(reason: String)
    }

    /// - Parameter directory: A private directory with room for two batches.
    init(
        _ rclone: RcloneProgram, _ remote: RcloneRemote, _ features: RcloneFeatures, in directory: String
    ) throws(FileError) {
        self.rclone = rclone
        self.remote = remote
        self.features = features
        parent = try Descriptor(directory, O_RDONLY | O_DIRECTORY, as: directory)
        parentPath = directory
    }

    /// Fetches a batch. The files stay until ``clear(_:)``.
    ///
    /// - Parameter items: Files.
    /// - Returns: An outcome for each file, in their order.
    /// - Throws: ``FileError`` when rclone cannot be run, the remote does not answer any more, or the disk has no room for
    ///   a batch. A single file without room is left out.
    func bring(_ items: [RclonePlan.Item], into slot: Slot) async throws(FileError) -> [Outcome] {
        guard !items.isEmpty else { return [] }
        clear(slot)
        if let lack = try lackOfRoom(for: items) {
            guard items.count == 1 else { throw lack }
            return [.failed(reason: lack.detail)]
        }
        let path = "\(parentPath)/\(slot.rawValue)"
        let place = Place(directory: parent, name: slot.rawValue)
        try SystemCalls.makeDirectory(place)
        let directory = try SystemCalls.open(place, O_RDONLY | O_DIRECTORY)
        for name in ["batch", "single"] { try SystemCalls.makeDirectory(Place(directory: directory, name: name)) }
        try write(items, in: directory)
        try await copyBatch(items, path)
        let hashes = try await hashes(of: items, path)
        let batch = try SourceDirectory("\(path)/batch")
        let single = try SourceDirectory("\(path)/single")
        var outcomes: [Outcome] = []
        for (index, item) in items.enumerated() {
            let hash = item.hash ?? hashes[item.path]
            let file = File(root: batch, path: item.path)
            // Without a length and a hash, only rclone's status shows that a file is complete.
            if item.byteCount != nil || hash != nil, fault(of: file, item, hash) == nil {
                outcomes.append(.fetched(file))
            } else {
                let file = File(root: single, path: ItemPath("\(index)"))
                outcomes.append(try await bringAgain(item, as: file, hash, path))
            }
        }
        return outcomes
    }

    /// Removes what was fetched.
    func clear(_ slot: Slot) {
        // What cannot be removed is removed with the directory, by the next command at the latest.
        try? TreeRemoval.remove(slot.rawValue, in: parent, owner: geteuid())
    }

    /// - Returns: `nil` when there is room. Related: `statvfs(3)`.
    private func lackOfRoom(for items: [RclonePlan.Item]) throws(FileError) -> FileError? {
        var room = statvfs()
        try SystemCalls.check("statvfs", parentPath) { statvfs(parentPath, &room) }
        let free = Int64(clamping: room.f_bavail.multipliedReportingOverflow(by: room.f_frsize).partialValue)
        let needed = items.reduce(Int64(0)) { $0.addingWithoutOverflow($1.expectedByteCount) }
        guard needed.addingWithoutOverflow(Self.reserveByteCount) > free else { return nil }
        return FileError(
            .diskFull,
            "there is no room to fetch \(ByteCount(needed)) to \(parentPath); set TMPDIR to a directory on a larger disk"
        )
    }

    // MARK: Fetching

    /// Writes the names of a batch for rclone, one in a line: names with line ends are refused before.
    private func write(_ items: [RclonePlan.Item], in directory: Descriptor) throws(FileError) {
        let list = try SystemCalls.create(Place(directory: directory, name: "list"), mode: 0o600)
        let text = items.map { $0.path.string + "\n" }.joined()
        try list.write(Array(text.utf8), at: 0)
    }

    /// Fetches a batch as far as rclone can: what is missing afterwards is fetched by itself.
    private func copyBatch(_ items: [RclonePlan.Item], _ path: String) async throws(FileError) {
        // Names arrive as they are listed, and files from their beginning to their end, so that a file of full length is
        // complete.
        let target = ":local,encoding=\"Slash,Ctl,Del,Dot\":\(path)/batch"
        _ = try await rclone.run(
            [
                "copy", "--no-traverse", "--files-from-raw", "\(path)/list", "--multi-thread-streams=0",
                verification(isVerifiedHere: features.hashKind != nil),
            ], [remote.string, target], limit: Self.limit(items))
    }

    private func bringAgain(
        _ item: RclonePlan.Item, as file: File, _ hash: SourceHash?, _ path: String
    ) async throws(FileError) -> Outcome {
        var reason = ""
        for _ in 0..<Self.attemptLimit {
            let target = "\(path)/single/\(file.path)"
            unlink(target)
            let ending = try await rclone.run(
                ["copyto", "--multi-thread-streams=0", verification(isVerifiedHere: hash != nil)],
                [remote.appending(item.path), target], limit: Self.limit([item]))
            guard ending.succeeded else {
                // Is it this file, or the remote?
                _ = try await rclone.answer(["lsjson", "--stat"], of: remote)
                return .failed(reason: ending.reason)
            }
            guard let fault = fault(of: file, item, hash) else { return .fetched(file) }
            reason = fault
        }
        return .failed(reason: reason)
    }

    /// rclone compares the hashes that it knows, unless that is done here.
    private func verification(isVerifiedHere: Bool) -> String { "--ignore-checksum=\(isVerifiedHere)" }

    private static func limit(_ items: [RclonePlan.Item]) -> Duration {
        let byteCount = items.reduce(Int64(0)) { $0.addingWithoutOverflow($1.expectedByteCount) }
        return patience + .seconds(byteCount / slowestRate)
    }

    // MARK: Verifying

    /// The hashes of a batch, of a remote that has to read the files for them.
    private func hashes(of items: [RclonePlan.Item], _ path: String) async throws(FileError) -> [ItemPath: SourceHash] {
        guard features.hashesAreSlow, let kind = features.hashKind else { return [:] }
        let ending = try await rclone.run(
            [
                "lsjson", "--recursive", "--files-only", "--no-mimetype", "--no-traverse", "--files-from-raw",
                "\(path)/list", "--hash", "--hash-type", kind.rawValue,
            ] + RcloneProgram.listingOptions, [remote.string], limit: Self.limit(items)
        ) { try await RcloneListing(reading: $0) }
        let hashed = ending.output.items.compactMap { item in item.hash.map { (item.path, $0) } }
        return Dictionary(hashed) { first, _ in first }
    }

    /// Why a file is not the one that was listed; `nil` if it is.
    private func fault(of file: File, _ item: RclonePlan.Item, _ hash: SourceHash?) -> String? {
        do throws(FileError) {
            let descriptor = try file.open()
            let size = try descriptor.status().size
            if let byteCount = item.byteCount, byteCount != size {
                return "it arrived with \(size) bytes, and the remote lists \(byteCount): it changed meanwhile, or is "
                    + "damaged there"
            }
            if let hash, try !hash.matches(descriptor) {
                return "what arrived has another \(hash.kind.name) than the remote lists: it changed meanwhile, or is "
                    + "damaged there"
            }
            return nil
        } catch {
            return error.detail
        }
    }
}
