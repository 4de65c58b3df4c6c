import CFuse
import CoreMetrics
import FileSystem
import Metering
import Model

/// One request of the kernel, from its arrival until its one reply.
///
/// `@unchecked Sendable`: the pointer is libfuse's own, valid until the reply; libfuse locks the state in it that its
/// threads share.
struct Request: @unchecked Sendable {
    let pointer: fuse_req_t
    let measurement: Measurement
    /// `nil` where requests do not come again.
    let number: RequestNumber?

    /// libfuse passes a request to every operation.
    init(_ pointer: fuse_req_t?, _ operation: KernelOperation) {
        self.pointer = pointer!
        let session = FileSystemSession.of(fuse_req_userdata(pointer))
        // libfuse calls the operation on the thread that has just read the request.
        number = session.survival == nil ? nil : WireCompletion.lastRequest
        measurement = Measurement(operation: operation, instruments: Unmanaged.passUnretained(session.instruments))
    }

    var session: FileSystemSession { FileSystemSession.of(fuse_req_userdata(pointer)) }

    var fileSystem: FileSystem { session.fileSystem }

    /// The caller. The kernel gives the thread's id.
    var caller: Caller {
        let context = fuse_req_ctx(pointer)!.pointee
        return Caller(thread: context.pid, user: context.uid, group: context.gid, request: number)
    }
}

/// The time of one request.
struct Measurement: BitwiseCopyable {
    let operation: KernelOperation
    /// The session holds them until its last request is answered.
    let instruments: Unmanaged<OperationInstruments>
    let start = OperationInstruments.now

    /// - Parameter number: 0, or the error number of the reply.
    func end(_ number: Int32 = 0) {
        instruments._withUnsafeGuaranteedRef { $0.ended(operation, since: start, number) }
    }

    func read(_ byteCount: Int) { instruments._withUnsafeGuaranteedRef { $0.readBytes.increment(by: byteCount) } }

    func wrote(_ byteCount: Int) { instruments._withUnsafeGuaranteedRef { $0.writtenBytes.increment(by: byteCount) } }
}

extension Request {
    /// Replies with the result of `body`, or with its error number.
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

    /// Replies at once when `body` can, and otherwise parks the request in a task of its own.
    ///
    /// Without default arguments: overload resolution would otherwise prefer the other `answer` when the result is
    /// unused, and would not wait.
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

extension Request {
    /// Replies as ``answer(_:with:)`` does, when the whole tree is there: only a device that is new waits for it.
    ///
    /// - Parameter input: What is read from libfuse's memory, which is used again when the request waits.
    func answerInWholeTree<Input: Sendable, Value: Sendable>(
        _ input: () throws(FileError) -> Input,
        _ body: @escaping @Sendable (Input) throws(FileError) -> Answer<Value>,
        with send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        answer(
            { () throws(FileError) -> Answer<Value> in
                let input = try input()
                return try fileSystem.inWholeTree { () throws(FileError) in try body(input) }
            }, with: send)
    }

    func answerInWholeTree<Value: Sendable>(
        _ body: @escaping @Sendable () throws(FileError) -> Answer<Value>,
        with send: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        answerInWholeTree({ () }, { _ throws(FileError) in try body() }, with: send)
    }
}

extension ItemName {
    /// - Parameter cString: A name as libfuse passes it: bytes up to a NUL.
    init(_ cString: UnsafePointer<CChar>?) throws(FileError) {
        let start = UnsafeRawPointer(cString!)
        var count = 0
        while start.load(fromByteOffset: count, as: UInt8.self) != 0 { count += 1 }
        try self.init(bytes: UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count))
    }
}
