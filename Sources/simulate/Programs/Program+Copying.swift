import FileSystem
import Glibc
import Model
import Replica

/// Copies, with copy_file_range(2).
extension Program {
    mutating func copy() async throws {
        let (source, number) = try takenFile()
        let target = try place(existing: 0)
        guard target.attributes == nil else { throw FileError(.exists, "\(target)") }
        let original = try await open(number, O_RDONLY)
        let (attributes, opened) = try await device.value(
            of: fileSystem.create(target.name, in: target.parent, mode: 0o644, flags: O_WRONLY, by: caller))
        let duplicate = note(opened, attributes.inode, O_WRONLY)
        do { try await copy(original, to: duplicate) } catch {
            try await close(original)
            try await close(duplicate)
            world.trace.note("\(label) copied \(source) to \(target) in part")
            throw error
        }
        if !isCutOff {
            let content = try device.content(of: duplicate.inode)
            world.model.noteCopy(of: content, as: target.name, on: device.name)
        }
        try await close(original)
        try await finish(duplicate)
    }

    func copy(_ source: OpenFile, to target: OpenFile) async throws {
        var done: Int64 = 0
        while true {
            let offset = done
            let left = try device.content(of: source.inode).byteCount - done
            let wanted = min(left, Int64(Content.chunkByteCount))
            guard wanted > 0 else { return }
            let replica = try fileSystem.replica
            let look = { @Sendable [device] () throws -> Sight in
                let before = try device.content(of: target.inode)
                let whole = try device.content(of: source.inode)
                var after = whole
                after.truncate(to: Int(offset + wanted) / FileContent.cellByteCount)
                // A whole file that is not local is copied at once, whatever its size; so the outcome is checked.
                if offset == 0, !(try replica.read { try $0.isLocal(source.inode) }) { after = whole }
                return Sight(before: [before], after: [after], source: whole, copy: target.inode)
            }
            let check = { @Sendable [self] (sight: Sight, count: Int) throws -> Void in
                try checkCopy(sight, from: Int(offset), byteCount: count, of: target)
            }
            let (count, _) = try await change(look, then: check) {
                try fileSystem.copyRange(
                    from: source.handle, offset: offset, to: target.handle, offset: offset, byteCount: 1 << 30,
                    by: caller)
            }
            done += Int64(count)
            // Only another program can have made the original shorter.
            guard count > 0 || world.scenario.isContended else {
                throw Violation("\(label): a copy ends early, at byte \(done)")
            }
            guard count > 0, !isCutOff else { return }
        }
    }

    /// Compares a part of a copy with the original.
    private func checkCopy(_ sight: Sight, from offset: Int, byteCount: Int, of target: OpenFile) throws {
        guard !isCutOff, let before = sight.before.first, let after = sight.after.first, let source = sight.source
        else {
            return
        }
        let first = offset / FileContent.cellByteCount
        device.programs.changed(target.inode)
        let shown = try device.content(of: target.inode)
        guard shown == before.overlaid(by: source, cells: first..<first + byteCount / FileContent.cellByteCount) else {
            throw Violation("\(label): a copy is not like its original")
        }
        // Bytes that were accounted for but not copied now are copied by the next call.
        if shown != after { world.model.note(.done, before: [after], after: [shown]) }
    }
}
