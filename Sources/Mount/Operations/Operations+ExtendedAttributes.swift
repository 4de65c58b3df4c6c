import CFuse
import Control
import FileSystem
import Glibc
import Metering
import Model

/// getxattr(2), setxattr(2), listxattr(2), removexattr(2).
extension Operations {
    static func addExtendedAttributes(to table: inout fuse_lowlevel_ops) {
        table.getxattr = { request, inode, name, capacity in
            // `ls -l` and every write query these: answered here, without access to the index.
            if Operations.isAbsent(name!) { return Reply(Request(request, .getxattr)).error(ENODATA) }
            let request = Request(request, .getxattr)
            request.answerInWholeTree({ () throws(FileError) in try Operations.text(name) }) { name throws(FileError) in
                try ExtendedAttributes(request.fileSystem).value(name, of: InodeNumber(inode), by: request.caller)
            } with: { reply, value in
                Operations.sendAttribute(value, capacity: capacity, reply)
            }
        }
        table.listxattr = { request, inode, capacity in
            let request = Request(request, .listxattr)
            request.answerInWholeTree { () throws(FileError) in
                .ready(
                    try ExtendedAttributes(request.fileSystem).names(of: InodeNumber(inode)).flatMap {
                        Array($0.utf8) + [0]
                    })
            } with: { reply, names in
                Operations.sendAttribute(names, capacity: capacity, reply)
            }
        }
        table.setxattr = { request, inode, name, value, byteCount, flags in
            if Operations.isAbsent(name!) { return Reply(Request(request, .setxattr)).error(EOPNOTSUPP) }
            let request = Request(request, .setxattr)
            if Operations.answersChange(request) { return }
            let value = Array(UnsafeRawBufferPointer(start: value, count: byteCount))
            request.answerInWholeTree({ () throws(FileError) in try Operations.text(name) }) { name throws(FileError) in
                try ExtendedAttributes(request.fileSystem).set(
                    name, value: value, mode: XattrMode(flags: flags), of: InodeNumber(inode), by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.removexattr = { request, inode, name in
            if Operations.isAbsent(name!) { return Reply(Request(request, .removexattr)).error(ENODATA) }
            let request = Request(request, .removexattr)
            if Operations.answersChange(request) { return }
            request.answerInWholeTree({ () throws(FileError) in try Operations.text(name) }) { name throws(FileError) in
                try ExtendedAttributes(request.fileSystem).remove(name, of: InodeNumber(inode), by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
    }

    /// Access control lists and security labels, which items do not have.
    private static func isAbsent(_ name: UnsafePointer<CChar>) -> Bool {
        hasPrefix(name, "security.") || hasPrefix(name, "system.posix_acl_")
    }

    private static func hasPrefix(_ name: UnsafePointer<CChar>, _ prefix: StaticString) -> Bool {
        strncmp(name, UnsafeRawPointer(prefix.utf8Start).assumingMemoryBound(to: CChar.self), prefix.utf8CodeUnitCount)
            == 0
    }

    /// Sends only the size when the caller queries it (capacity 0).
    private static func sendAttribute(_ bytes: [UInt8], capacity: Int, _ reply: consuming Reply) {
        if capacity == 0 {
            reply.attributeSize(bytes.count)
        } else if bytes.count > capacity {
            reply.error(ERANGE)
        } else {
            reply.bytes(bytes)
        }
    }
}

extension XattrMode {
    /// - Parameter flags: `XATTR_CREATE` (1) or `XATTR_REPLACE` (2) of setxattr(2).
    fileprivate init(flags: Int32) throws(FileError) {
        switch flags {
        case 0: self = .any
        case 1: self = .create
        case 2: self = .replace
        default: throw FileError(.invalid, "setxattr flags \(flags)")
        }
    }
}
