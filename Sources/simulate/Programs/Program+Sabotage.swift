import FileSystem
import Glibc
import Model
import Replica
import Linux

extension Program {
    /// Breaks something occasionally.
    mutating func sabotage(by sabotage: Sabotage?) async throws {
        guard let sabotage, random.happens(Sabotage.share), !device.isDead else { return }
        let replica = try fileSystem.replica
        switch sabotage {
        case .dropChange:
            guard let change = try replica.read({ try $0.outbox.pending(limit: 1, after: 0).first }) else { return }
            try replica.change { try $0.outbox.dequeueAll(change.item) }
        case .deleteUnseen:
            guard let place = try? takenFile().0 else { return }
            try fileSystem.removeFile(place.name, in: place.parent, by: caller).atOnce()
        case .writeUnseen:
            guard let number = try? takenFile().1, try replica.read({ try $0.isLocal(number) }) else { return }
            let bytes = FileContent.bytes(of: [Token.max])
            try replica.change { try $0.markModified(number) }
            let descriptor = try replica.openBytes(of: number)
            _ = pwrite(descriptor.rawValue, bytes, bytes.count, 0)
            try replica.change { try $0.recordBytes(of: number, from: descriptor) }
        case .writeClaimed:
            guard try await writeClaimed() else { return }
        case .damageStore:
            return
        }
        world.trace.note("\(device.name) is sabotaged: \(sabotage)")
    }

    /// Writes to a file that another program has claimed, past the lock table.
    private mutating func writeClaimed() async throws -> Bool {
        let items = device.programs.claims.all.filter { $0.holder != label && $0.isExclusive }.flatMap(\.items)
        let files = try items.filter(\.isWritten).compactMap { item -> InodeNumber? in
            guard item.shown != nil else { return nil }
            return try device.programs.claims.inode(of: item, on: device)
        }
        guard let number = files.first, try fileSystem.replica.read({ try $0.isLocal(number) }) else { return false }
        let request = OpenRequest(inode: number, flags: O_RDWR | O_NONBLOCK, caller: caller)
        let file = note(try fileSystem.open(request).atOnce(), number, O_RDWR)
        let content = FileContent(count: 1, cells: [0: token("writes a claimed file")])
        let look = { @Sendable [device] () throws -> Sight in
            let before = try device.content(of: number)
            return Sight(before: [before], after: [before.overlaid(by: content)])
        }
        _ = try await change(of: number, look) {
            try FileContent.bytes(ofCellsIn: content).withUnsafeBytes {
                try fileSystem.write(file.handle, offset: 0, bytes: $0, fromPageCache: true, by: caller)
            }
        }
        try await close(file)
        return true
    }
}
