import Foundation
import Glibc
import Model
import Replica
import Synchronization
import Linux

/// A directory that an export fills. Every item in it is named by one component relative to the open directory, so that
/// no name and no link of the container leads outside.
///
/// It gets its own mode, attributes and times when its last writer is done.
final class OutputDirectory: Sendable {
    /// The properties of an item besides its bytes.
    struct Metadata: Sendable {
        var mode: UInt16
        var modified: Timestamp
        var xattrs: [(name: String, value: [UInt8])]
    }

    /// Relative to the export's root; empty for the root.
    let path: String
    private let descriptor: Descriptor
    private let parent: OutputDirectory?
    /// `nil` for the export's root, which keeps its own.
    private let metadata: Metadata?
    private let writerCount = Atomic<Int>(1)
    private let report: @Sendable (TransferProblem) -> Void

    /// Creates the export's root, or takes an existing empty directory.
    ///
    /// - Throws: `notEmpty` with a sentence.
    init(root: String, report: @escaping @Sendable (TransferProblem) -> Void) throws(FileError) {
        try SystemCalls.makeDirectory(ifMissing: root, mode: 0o777)
        descriptor = try Descriptor(root, O_RDONLY | O_DIRECTORY, as: root)
        guard (try? FileManager.default.contentsOfDirectory(atPath: root)) == [] else {
            throw FileError(.notEmpty, "\(root) is not empty; give a new directory, or an empty one")
        }
        path = ""
        parent = nil
        metadata = nil
        self.report = report
    }

    /// Creates a directory in another, which is completed after it.
    private init(_ name: String, in parent: OutputDirectory, _ metadata: Metadata) throws(FileError) {
        path = parent.path(of: name)
        try SystemCalls.check("mkdir") { mkdirat(parent.descriptor.rawValue, name, 0o700) }
        let place = Place(directory: parent.descriptor, name: name)
        descriptor = try SystemCalls.open(place, O_RDONLY | O_DIRECTORY, as: "open")
        self.parent = parent
        self.metadata = metadata
        report = parent.report
        parent.begin()
    }

    func path(of name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }

    func makeDirectory(_ name: String, _ metadata: Metadata) throws(FileError) -> OutputDirectory {
        try OutputDirectory(name, in: self, metadata)
    }

    func makeLink(_ name: String, target: String, _ metadata: Metadata) throws(FileError) {
        try SystemCalls.check("symlink") { symlinkat(target, descriptor.rawValue, name) }
        let times = [timespec](repeating: SystemCalls.timespec(metadata.modified), count: 2)
        try SystemCalls.check("utimensat") { utimensat(descriptor.rawValue, name, times, AT_SYMLINK_NOFOLLOW) }
        if !metadata.xattrs.isEmpty {
            report(TransferProblem(.note, path: path(of: name), "Linux keeps no user attributes on symbolic links"))
        }
    }

    /// Creates a file that no other user may read until ``finish(_:_:_:)``.
    func makeFile(_ name: String) throws(FileError) -> Descriptor {
        let place = Place(directory: descriptor, name: name)
        return try SystemCalls.open(place, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600, as: "open")
    }

    func finish(_ name: String, _ file: Descriptor, _ metadata: Metadata) throws(FileError) {
        var metadata = metadata
        // As root, the file's owner differs from the user who set these bits.
        if geteuid() == 0, metadata.mode & Self.setIDBits != 0 {
            metadata.mode &= ~Self.setIDBits
            report(TransferProblem(.note, path: path(of: name), "without its set-id bits, since its owner is now root"))
        }
        try apply(metadata, to: file, path(of: name))
    }

    /// Removes a partial file, which would look like the complete one.
    func remove(_ name: String) { unlinkat(descriptor.rawValue, name, 0) }

    // MARK: Completion

    /// Adds a writer.
    func begin() { writerCount.add(1, ordering: .relaxed) }

    /// Removes a writer; the last one completes the directory.
    func end() {
        guard writerCount.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        if let metadata {
            do throws(FileError) {
                try apply(metadata, to: descriptor, path)
            } catch {
                report(TransferProblem(.failed, path: path, "its mode and time: \(error.detail)"))
            }
        }
        parent?.end()
    }

    /// Flushes everything that was written to the disk. Related: `syncfs(2)`.
    func synchronize() throws(FileError) {
        try SystemCalls.syncFileSystem(of: descriptor)
    }

    private static let setIDBits: UInt16 = 0o6000

    private func apply(_ metadata: Metadata, to file: Descriptor, _ path: String) throws(FileError) {
        for (name, value) in metadata.xattrs {
            do throws(FileError) {
                try file.setExtendedAttribute(name, to: value, as: "without the attribute \(name)")
            } catch {
                report(TransferProblem(.note, path: path, error.detail))
            }
        }
        try file.setMode(metadata.mode)
        try file.setTimes(accessed: metadata.modified, modified: metadata.modified)
    }
}
