import CFuse
import FileSystem
import Model

/// One request of the kernel, from its arrival until the one reply to it.
///
/// `@unchecked Sendable`: the pointer is libfuse's own, valid until the reply; libfuse locks what its threads share in
/// it.
struct Request: @unchecked Sendable {
    let pointer: fuse_req_t

    /// libfuse hands every operation a request; there is no operation without one.
    init(_ pointer: fuse_req_t?) { self.pointer = pointer! }

    var session: FileSystemSession { FileSystemSession.of(fuse_req_userdata(pointer)) }

    var fileSystem: FileSystem { session.fileSystem }

    /// Who asks. The kernel gives the thread's id.
    var caller: Caller {
        let context = fuse_req_ctx(pointer)!.pointee
        return Caller(thread: context.pid, user: context.uid, group: context.gid)
    }
}

extension Request {
    /// Answers with what `body` gives, or with the number of its error.
    func answer<Value>(
        _ body: () throws(FileError) -> Value, with send: (consuming Reply, Value) -> Void
    ) {
        do {
            let value = try body()
            send(Reply(self), value)
        } catch {
            Reply(self).error(error)
        }
    }

    /// Answers at once when `body` can, and otherwise lets the request wait in a task of its own.
    ///
    /// Without parameters that have defaults: the other `answer` would be preferred where nobody looks at the value, and would not wait.
    func answer<Value: Sendable>(
        _ body: () throws(FileError) -> Answer<Value>,
        with send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        answer(interruptedBy: .ending, body, with: send)
    }

    func answer<Value: Sendable>(
        interruptedBy signals: ParkedRequest.Signals, _ body: () throws(FileError) -> Answer<Value>,
        with send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        do {
            switch try body() {
            case .ready(let value): send(Reply(self), value)
            case .pending(let operation):
                ParkedRequest.park(self, interruptedBy: signals, until: operation, thenSend: send)
            }
        } catch {
            Reply(self).error(error)
        }
    }
}

extension ItemName {
    /// - Parameter cString: A name as libfuse hands it over: bytes up to a NUL.
    init(_ cString: UnsafePointer<CChar>?) throws(FileError) {
        let start = UnsafeRawPointer(cString!)
        var count = 0
        while start.load(fromByteOffset: count, as: UInt8.self) != 0 { count += 1 }
        try self.init(bytes: UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count))
    }
}
