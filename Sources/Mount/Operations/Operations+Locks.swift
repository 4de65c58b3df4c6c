import CFuse
import FileSystem
import Glibc
import Metering
import Model

/// flock(2) and the record locks of fcntl(2).
extension Operations {
    static func addLocks(to table: inout fuse_lowlevel_ops) {
        table.getlk = { request, _, information, lock in
            let request = Request(request, .getlk)
            let asked = lock!.pointee
            request.answer { () throws(FileError) in
                try request.fileSystem.lockRequests.testLock(
                    HandleID(information), lock: RecordLockRequest(asked), owner: information!.pointee.lock_owner)
            } with: { reply, holder in
                var answer = Glibc.flock(holder, asked: asked)
                reply.lock(&answer)
            }
        }
        table.setlk = { request, _, information, lock, sleep in
            let request = Request(request, .setlk)
            // Programs limit the wait for a lock with alarm(2).
            request.answer(interruptedBy: .any) { () throws(FileError) in
                try request.fileSystem.lockRequests.recordLock(
                    HandleID(information), lock: RecordLockRequest(lock!.pointee),
                    owner: information!.pointee.lock_owner, wait: sleep != 0, by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
        table.flock = { request, _, information, operation in
            let request = Request(request, .flock)
            request.answer(interruptedBy: .any) { () throws(FileError) in
                try request.fileSystem.lockRequests.flock(
                    HandleID(information), operation: FlockOperation(operation),
                    wait: operation & LOCK_NB == 0, by: request.caller)
            } with: { reply, _ in
                reply.done()
            }
        }
    }
}

extension FlockOperation {
    /// - Parameter operation: Of flock(2).
    fileprivate init(_ operation: Int32) throws(FileError) {
        switch operation & ~LOCK_NB {
        case LOCK_SH: self = .shared
        case LOCK_EX: self = .exclusive
        case LOCK_UN: self = .unlock
        default: throw FileError(.invalid, "flock operation \(operation)")
        }
    }
}

extension RecordLockRequest {
    /// - Parameter lock: As libfuse passes it: from the start of the file, with the length 0 for "to the end".
    fileprivate init(_ lock: Glibc.flock) throws(FileError) {
        let type: Kind =
            switch Int32(lock.l_type) {
            case F_RDLCK: .shared
            case F_WRLCK: .exclusive
            case F_UNLCK: .unlock
            default: throw FileError(.invalid, "record lock type \(lock.l_type)")
            }
        let start = Int64(lock.l_start)
        self.init(
            type: type, start: start, end: lock.l_len == 0 ? .max : start + Int64(lock.l_len) - 1, process: lock.l_pid)
    }
}

extension Glibc.flock {
    /// The answer to F_GETLK.
    ///
    /// - Parameter holder: The conflicting lock, or `nil`.
    fileprivate init(_ holder: RecordLockRequest?, asked: Glibc.flock) {
        self = asked
        guard let holder else {
            l_type = Int16(F_UNLCK)
            l_pid = 0
            return
        }
        l_type = Int16(holder.type == .exclusive ? F_WRLCK : F_RDLCK)
        l_whence = Int16(SEEK_SET)
        l_start = off_t(holder.start)
        l_len = holder.end == .max ? 0 : off_t(holder.end - holder.start + 1)
        l_pid = holder.process
    }
}
