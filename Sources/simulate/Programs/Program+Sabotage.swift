import FileSystem
import Glibc
import Model
import Replica

extension Program {
    /// Breaks something occasionally.
    mutating func sabotage(by sabotage: Sabotage?) throws {
        guard let sabotage, random.happens(Sabotage.share), !device.isDead else { return }
        let replica = try fileSystem.replica
        switch sabotage {
        case .dropChange:
            guard let change = try replica.pending(limit: 1, after: 0).first else { return }
            try replica.write { transaction throws(FileError) in try transaction.dequeueAll(change.item) }
        case .deleteUnseen:
            guard let place = try? takenFile().0 else { return }
            try fileSystem.removeFile(place.name, in: place.parent, by: caller).atOnce()
        case .writeUnseen:
            guard let number = try? takenFile().1, try replica.isLocal(number) else { return }
            let bytes = FileContent.bytes(of: [Token.max])
            try replica.markModified(number)
            let descriptor = try replica.openBytes(of: number)
            _ = pwrite(descriptor.rawValue, bytes, bytes.count, 0)
            try replica.recordBytes(of: number, from: descriptor)
        case .damageStore:
            return
        }
        world.trace.note("\(device.name) is sabotaged: \(sabotage)")
    }
}
