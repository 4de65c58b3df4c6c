import CFuse
import FileSystem
import Glibc
import Metering
import Model

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
            request.fileSystem.forget(InodeNumber(inode), count)
            Reply(request).none()
        }
        table.forget_multi = { request, count, forgets in
            let request = Request(request, .forget)
            let fileSystem = request.fileSystem
            for forgotten in UnsafeBufferPointer(start: forgets, count: count) {
                fileSystem.forget(InodeNumber(forgotten.ino), forgotten.nlookup)
            }
            Reply(request).none()
        }
        table.mknod = { request, parent, name, mode, device in
            Operations.makeNode(Request(request, .mknod), InodeNumber(parent), name, mode, device)
        }
        table.mkdir = { request, parent, name, mode in
            let request = Request(request, .mkdir)
            request.answer { () throws(FileError) in
                try request.fileSystem.make(
                    NewItem(.directory, mode: UInt16(mode & Operations.permissionBits)), as: ItemName(name),
                    in: InodeNumber(parent), by: request.caller)
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.unlink = { request, parent, name in
            let request = Request(request, .unlink)
            request.answer { () throws(FileError) -> Answer<Void> in
                try request.fileSystem.removeFile(ItemName(name), in: InodeNumber(parent), by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.rmdir = { request, parent, name in
            let request = Request(request, .rmdir)
            request.answer { () throws(FileError) -> Answer<Void> in
                try request.fileSystem.removeDirectory(ItemName(name), in: InodeNumber(parent), by: request.caller)
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
            request.answer { () throws(FileError) in
                try request.fileSystem.make(
                    .symbolicLink(to: Operations.text(target)), as: ItemName(name), in: InodeNumber(parent),
                    by: request.caller)
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.link = { request, inode, parent, name in
            let request = Request(request, .link)
            request.answer { () throws(FileError) in
                try request.fileSystem.link(
                    InodeNumber(inode), as: ItemName(name), in: InodeNumber(parent), by: request.caller)
            } with: { reply, attributes in
                reply.newEntry(attributes)
            }
        }
        table.readlink = { request, inode in
            let request = Request(request, .readlink)
            request.answer { () throws(FileError) in
                try request.fileSystem.readLink(InodeNumber(inode))
            } with: { reply, target in
                reply.linkTarget(target)
            }
        }
    }

    private static func lookup(_ request: Request, _ parent: InodeNumber, _ name: UnsafePointer<CChar>?) {
        do throws(FileError) {
            let attributes = try request.fileSystem.lookupReferenced(ItemName(name), in: parent)
            Reply(request).entry(attributes)
        } catch {
            switch error.code {
            // A string that is not a valid name cannot exist; only its creation fails with an error of its own.
            case .notFound, .notUTF8: Reply(request).noEntry()
            default: Reply(request).error(error)
            }
        }
    }

    private static func makeNode(
        _ request: Request, _ parent: InodeNumber, _ name: UnsafePointer<CChar>?, _ mode: mode_t, _ device: dev_t
    ) {
        request.answer { () throws(FileError) in
            guard let kind = ItemKind(typeBits: mode) else {
                throw FileError(.invalid, "not a file type that mknod creates")
            }
            let name = try ItemName(name)
            guard kind == .file || !kind.isSynced else {
                throw FileError(.invalid, "\(name): a \(kind.rawValue) cannot be made by mknod")
            }
            return try request.fileSystem.make(
                NewItem(kind, mode: UInt16(mode & permissionBits), device: UInt64(device)), as: name, in: parent,
                by: request.caller)
        } with: { reply, attributes in
            reply.newEntry(attributes)
        }
    }

    private static func rename(
        _ request: Request, _ from: (parent: InodeNumber, name: UnsafePointer<CChar>?),
        _ to: (parent: InodeNumber, name: UnsafePointer<CChar>?), _ flags: UInt32
    ) {
        request.answer { () throws(FileError) -> Answer<Void> in
            let mode: RenameMode =
                switch flags {
                case 0: .replace
                case RenameFlag.noReplace: .noReplace
                case RenameFlag.exchange: .exchange
                default: throw FileError(.invalid, "rename flags \(flags)")
                }
            return try request.fileSystem.rename(
                ItemName(from.name), in: from.parent, to: ItemName(to.name), in: to.parent, mode: mode,
                by: request.caller)
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
