import CFuse
import FileSystem
import Glibc
import Metering
import Model
import Sync

/// Names: lookup, creation, removal, rename.
extension Operations {
    /// The bits of a mode that are permissions.
    private static let permissionBits: mode_t = 0o7777

    static func addNames(to table: inout fuse_lowlevel_ops) {
        table.lookup = { request, parent, name in
            Operations.lookup(Request(request, .lookup), InodeNumber(parent), name)
        }
        table.forget = { request, inode, count in
            let request = Request(request, .forget)
            let inode = InodeNumber(inode)
            if !inode.isVirtual { request.fileSystem.forget(inode, count) }
            Reply(request).none()
        }
        table.forget_multi = { request, count, forgets in
            let request = Request(request, .forget)
            let fileSystem = request.fileSystem
            for forgotten in UnsafeBufferPointer(start: forgets, count: count) {
                let inode = InodeNumber(forgotten.ino)
                if !inode.isVirtual { fileSystem.forget(inode, forgotten.nlookup) }
            }
            Reply(request).none()
        }
        table.mknod = { request, parent, name, mode, device in
            Operations.makeNode(Request(request, .mknod), InodeNumber(parent), name, mode, device)
        }
        table.mkdir = { request, parent, name, mode in
            let request = Request(request, .mkdir)
            if Operations.announcesCreation(request, parent, name) || Operations.answersCreation(request) { return }
            request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
                .ready(
                    try request.fileSystem.make(
                        NewItem(.directory, mode: UInt16(mode & Operations.permissionBits)), as: name,
                        in: InodeNumber(parent), by: request.caller))
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.unlink = { request, parent, name in
            let request = Request(request, .unlink)
            if Operations.announcesRemoval(request, parent, name) || Operations.answersChange(request) { return }
            request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
                try request.fileSystem.removeFile(name, in: InodeNumber(parent), by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.rmdir = { request, parent, name in
            let request = Request(request, .rmdir)
            if Operations.announcesRemoval(request, parent, name) || Operations.answersChange(request) { return }
            request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
                try request.fileSystem.removeDirectory(name, in: InodeNumber(parent), by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.rename = { request, parent, name, newParent, newName, flags in
            Operations.rename(
                Request(request, .rename), (InodeNumber(parent), name), (InodeNumber(newParent), newName), flags)
        }
        addLinks(to: &table)
    }

    private static func addLinks(to table: inout fuse_lowlevel_ops) {
        table.symlink = { request, target, parent, name in
            let request = Request(request, .symlink)
            if Operations.announcesCreation(request, parent, name) || Operations.answersCreation(request) { return }
            request.answerInWholeTree({ () throws(FileError) in (try Operations.text(target), try ItemName(name)) }) {
                input throws(FileError) in
                let (target, name) = input
                return .ready(
                    try request.fileSystem.make(
                        .symbolicLink(to: target), as: name, in: InodeNumber(parent), by: request.caller))
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.link = { request, inode, parent, name in
            let request = Request(request, .link)
            if Operations.answersCreation(request) { return }
            request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
                .ready(
                    try request.fileSystem.link(
                        InodeNumber(inode), as: name, in: InodeNumber(parent), by: request.caller))
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.readlink = { request, inode in
            let request = Request(request, .readlink)
            request.answerInWholeTree { () throws(FileError) in
                .ready(try request.fileSystem.readLink(InodeNumber(inode)))
            } with: { reply, target in
                reply.linkTarget(target)
            }
        }
    }

    private static func lookup(_ request: Request, _ parent: InodeNumber, _ name: UnsafePointer<CChar>?) {
        let fileSystem = request.fileSystem
        let announcer = announcer(of: request)
        if let announcer, let name = try? ItemName(name), lookUp(EntryName(name, in: parent), for: announcer, request) {
            return
        }
        let isUse = announcer == nil
        request.answer { () throws(FileError) -> Answer<Attributes?> in
            // A string that is not a valid name cannot exist; only its creation fails with an error of its own.
            guard let name = try absent(.notUTF8, { () throws(FileError) in try ItemName(name) }) else {
                return .ready(nil)
            }
            return try fileSystem.inTree { () throws(FileError) in
                .ready(
                    try absent(.notFound) { () throws(FileError) in
                        try fileSystem.lookupReferenced(name, in: parent, isUse: isUse)
                    })
            }
        } with: { reply, attributes in
            if let attributes { reply.entry(attributes) } else { reply.noEntry() }
        }
    }

    /// - Returns: `nil` when `body` throws an error of a code.
    private static func absent<Value>(
        _ code: FileError.Code, _ body: () throws(FileError) -> Value
    ) throws(FileError) -> Value? {
        do throws(FileError) {
            return try body()
        } catch {
            guard error.code == code else { throw error }
            return nil
        }
    }

    private static func makeNode(
        _ request: Request, _ parent: InodeNumber, _ name: UnsafePointer<CChar>?, _ mode: mode_t, _ device: dev_t
    ) {
        if answersCreation(request) { return }
        request.answerInWholeTree({ () throws(FileError) in try ItemName(name) }) { name throws(FileError) in
            guard let kind = ItemKind(typeBits: mode) else {
                throw FileError(.invalid, "not a file type that mknod creates")
            }
            guard kind == .file || !kind.isSynced else {
                throw FileError(.invalid, "\(name): a \(kind.rawValue) cannot be made by mknod")
            }
            return .ready(
                try request.fileSystem.make(
                    NewItem(kind, mode: UInt16(mode & permissionBits), device: UInt64(device)), as: name, in: parent,
                    by: request.caller))
        } with: { reply, attributes in
            reply.newEntry(attributes)
        }
    }

    private static func rename(
        _ request: Request, _ from: (parent: InodeNumber, name: UnsafePointer<CChar>?),
        _ to: (parent: InodeNumber, name: UnsafePointer<CChar>?), _ flags: UInt32
    ) {
        if announcesMove(request, from, to) || answersChange(request) { return }
        let (parent, newParent) = (from.parent, to.parent)
        request.answerInWholeTree({ () throws(FileError) in (try ItemName(from.name), try ItemName(to.name)) }) {
            names throws(FileError) in
            let mode: RenameMode =
                switch flags {
                case 0: .replace
                case RenameFlag.noReplace: .noReplace
                case RenameFlag.exchange: .exchange
                default: throw FileError(.invalid, "rename flags \(flags)")
                }
            return try request.fileSystem.rename(
                names.0, in: parent, to: names.1, in: newParent, mode: mode, by: request.caller)
        } with: { reply, _ in
            reply.done()
        }
    }

    /// The flags of renameat2(2).
    private enum RenameFlag {
        static let noReplace: UInt32 = 1 << 0
        static let exchange: UInt32 = 1 << 1
    }

    /// - Throws: ``FileError`` with `notUTF8`.
    static func text(_ cString: UnsafePointer<CChar>?) throws(FileError) -> String {
        guard let text = String(validatingCString: cString!) else { throw FileError(.notUTF8, "not UTF-8") }
        return text
    }
}
