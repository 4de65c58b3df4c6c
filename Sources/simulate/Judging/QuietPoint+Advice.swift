import Control
import FileSystem
import Model
import Replica

/// What a user does whom a device tells that the container no longer has the bytes of an item: a device was away for
/// longer than they are kept.
extension QuietPoint {
    /// Removes files, and resolves conflicts, that cannot be uploaded any more, as the devices advise.
    ///
    /// What cannot be done yet, because an item is claimed, is left for the next call.
    func followAdvice() async throws {
        for device in devices {
            let fileSystem = try device.fileSystem
            for number in try fileSystem.replica.read({ try $0.filesBelow(.root) }) {
                for entry in try fileSystem.replica.read({ try $0.entries(of: number) }) where entry.item != nil {
                    do {
                        try await followAdvice(on: entry, of: device, fileSystem)
                    } catch let error as FileError where error.code == .busy || error.code == .notFound {
                        continue
                    }
                }
            }
        }
    }

    private func followAdvice(
        on entry: Entry, of device: SimulatedDevice, _ fileSystem: FileSystem
    ) async throws {
        let replica = fileSystem.replica
        let inode = try replica.read { try $0.inode(entry.inode) }
        if let content = try inode.newest, !inode.isModified, !inode.isLocal || inode.hasIncoming,
            try replica.read({ try $0.refersToCondemned(content) })
        {
            let removed =
                try inode.attributes.linkCount == 1
                ? device.everything(of: entry.inode) : device.conflictVersions(at: entry.name, in: entry.parent)
            world.trace.note("\(device.name) removes \(entry.name.string), whose bytes are gone")
            let caller = Caller(thread: 1 << 30, user: 0, group: 0)
            try await device.value(of: fileSystem.removeFile(entry.name, in: entry.parent, by: caller))
            return world.model.note(.done, before: removed, after: [])
        }
        let hasLostVersion = try entry.conflicts.contains { version in
            try version.content.objects.contains { object throws(FileError) in
                try replica.read { try $0.isCondemned(object) }
            }
        }
        guard hasLostVersion else { return }
        let resolved = try device.conflictVersions(at: entry.name, in: entry.parent)
        let path = try replica.read { try $0.path(of: entry.inode) }
        world.trace.note("\(device.name) resolves \(path), of which versions are gone")
        try await device.value { () async throws(FileError) in
            try await ItemVersions(fileSystem).resolve(entry.inode, keep: .current)
            await ItemVersions(fileSystem).showChosen(entry.inode)
        }
        world.model.note(.done, before: resolved, after: [])
    }
}
