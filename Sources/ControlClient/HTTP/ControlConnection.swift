import CLinux
import ControlAPI
import Foundation
import Glibc
import Model
import Synchronization

/// One request to a daemon, and its answer, over a connection of its own.
///
/// ``run(_:deadline:tick:onHead:onBody:)`` blocks its thread, and calls everything there. Nothing is read from the
/// daemon while a part of the answer is handled: a slow reader slows the daemon down. The other functions are for any
/// thread, and never wait.
final class ControlConnection: Sendable {
    private struct State {
        var outbox = Outbox()
        /// Why the connection is to end.
        var end: ControlError?
        var isOver = false
        var whenOver: [@Sendable () -> Void] = []
    }

    private let socketPath: String
    private let state = Mutex(State())
    /// An eventfd that wakes the thread; -1 if there are no descriptors left, and then nothing runs.
    private let bell = CLinux_eventfd(0, O_CLOEXEC | O_NONBLOCK)

    /// The most bytes that wait for a daemon that does not read: 64 MiB, as many as a session's claims can take.
    static let outboxByteLimit = 64 << 20
    /// The longest body of a refusal that is read: 64 KiB. Longer ones are cut.
    static let refusalByteLimit = 64 << 10
    /// How many bytes are to arrive within ``Limits/pace``: 64 KiB.
    static let byteCountPerPace = 64 << 10
    /// How many bytes are read at a time.
    private static let pieceByteCount = 64 << 10

    init(socketPath: String) { self.socketPath = socketPath }

    deinit { if bell >= 0 { close(bell) } }

    /// Queues bytes for the daemon.
    func send(_ bytes: [UInt8]) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.outbox.append(bytes)
            if state.outbox.byteCount > Self.outboxByteLimit { state.end = .daemonUnreachable("it reads nothing") }
        }
        ring()
    }

    /// Ends the connection; what is queued is sent as far as that is possible at once.
    func cancel() {
        state.withLock { state in if state.end == nil { state.end = .cancelled } }
        ring()
    }

    /// - Parameter body: Called when the connection is closed, at once if it is already.
    func whenOver(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.whenOver.append(body) }
            return state.isOver
        }
        if isOver { body() }
    }

    private func ring() {
        var one: UInt64 = 1
        // Fails only when it rings already.
        _ = write(bell, &one, MemoryLayout.size(ofValue: one))
    }

    private func silence() {
        var count: UInt64 = 0
        // Fails only when it does not ring.
        _ = read(bell, &count, MemoryLayout.size(ofValue: count))
    }

    /// How long the parts of an answer may take whose whole has no limit.
    struct Limits {
        /// Until it begins.
        var head: Duration?
        /// From then on.
        var body: Duration?
        /// From then on for each ``byteCountPerPace`` bytes, or the end. The time in which they are handled does not count.
        var pace: Duration?
    }

    /// Something to be done in intervals.
    struct Tick {
        let interval: Duration
        let perform: () -> Void
    }

    /// Sends a request and reads its answer. To be called once.
    ///
    /// - Parameters:
    ///   - deadline: For the whole answer; `nil` for none.
    ///   - limits: For its parts.
    ///   - onHead: Called when the daemon has answered with status 200.
    ///   - onBody: Gets the parts of that answer's body. What it throws ends the connection.
    /// - Throws: ``ControlError/refused(_:)`` for any other status.
    func run(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant?, limits: Limits = Limits(), tick: Tick? = nil,
        onHead: () -> Void = {}, onBody: ([UInt8]) throws(ControlError) -> Void
    ) throws(ControlError) {
        defer { finish() }
        let whole = deadline
        guard bell >= 0 else { throw .daemonUnreachable("eventfd: \(String(cString: strerror(EMFILE)))") }
        try check(deadline)
        let descriptor = try connect(request, deadline)
        defer { close(descriptor) }
        state.withLock { $0.outbox.prepend(request.bytes) }
        var answer = Answer()
        var deadline = earliest(deadline, limits.head.map { .now + $0 })
        var pause = tick.map { Pause($0) }
        var pace = Pace(limit: limits.pace)
        while true {
            let ready = poll(descriptor, until: earliest(deadline, pause?.next))
            if ready.bell { silence() }
            if ready.output { flush(descriptor) }
            try check(deadline, descriptor)
            pause?.performIfDue()
            guard ready.input else { continue }
            let piece = try receive(descriptor)
            let hadBegun = answer.hasBegun
            let received = ContinuousClock.now
            if try answer.take(piece, onHead: onHead, onBody: onBody) { return }
            if answer.hasBegun, !hadBegun { deadline = earliest(whole, limits.body.map { .now + $0 }) }
            if answer.hasBegun, pace.took(piece?.count ?? 0, at: received) { deadline = earliest(whole, pace.end) }
        }
    }

    private func finish() {
        let waiters = state.withLock { state in
            defer {
                state.isOver = true
                state.whenOver = []
                state.outbox.removeAll()
            }
            return state.whenOver
        }
        for waiter in waiters { waiter() }
    }

    /// - Throws: When the connection is to end.
    private func check(_ deadline: ContinuousClock.Instant?, _ descriptor: Int32? = nil) throws(ControlError) {
        if let end = state.withLock({ $0.end }) {
            if let descriptor { flush(descriptor) }
            throw end
        }
        if let deadline, deadline <= .now { throw .daemonUnreachable("no answer in time") }
    }
}

// MARK: The socket

extension ControlConnection {
    private func connect(
        _ request: HTTPRequest, _ deadline: ContinuousClock.Instant?
    ) throws(ControlError) -> Int32 {
        var limit = ControlSocket.connectLimit
        if let deadline { limit = min(limit, max(.milliseconds(1), deadline - .now)) }
        let listener: ControlSocket.Listener
        do throws(FileError) {
            listener = try ControlSocket.connect(path: socketPath, limit: limit)
        } catch {
            throw .daemonUnreachable(error.code == .wouldBlock ? "no connection within \(limit)" : error.detail)
        }
        if request.changesSomething, geteuid() == 0, listener.user != 0 {
            close(listener.descriptor)
            throw .refused(FileError(.notPermitted, Self.refusal(user: listener.user)))
        }
        return listener.descriptor
    }

    /// Root asks a daemon of another user nothing that changes something: what it answers cannot be relied on.
    private static func refusal(user: UInt32) -> String {
        "the daemon belongs to user \(user), and root changes nothing through another user's daemon; run the command as "
            + "that user, for example with: sudo -u '#\(user)'"
    }

    /// Waits for the socket, for the bell, or for a time.
    private func poll(
        _ descriptor: Int32, until time: ContinuousClock.Instant?
    ) -> (input: Bool, output: Bool, bell: Bool) {
        let isSending = state.withLock { !$0.outbox.isEmpty }
        let ended = Int16(POLLHUP | POLLERR)
        var places = [
            pollfd(fd: descriptor, events: Int16(POLLIN | (isSending ? POLLOUT : 0)), revents: 0),
            pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
        ]
        var milliseconds: Int32 = -1
        if let time {
            let (seconds, attoseconds) = (time - .now).components
            // Rounded up: else it would be called again and again in the last millisecond.
            let rest = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
            milliseconds = Int32(clamping: max(0, rest))
        }
        // Interrupted by a signal, nothing is ready.
        guard Glibc.poll(&places, 2, milliseconds) > 0 else { return (false, false, false) }
        return (
            places[0].revents & (Int16(POLLIN) | ended) != 0, places[0].revents & Int16(POLLOUT) != 0,
            places[1].revents != 0
        )
    }

    /// Sends what the socket takes without waiting.
    private func flush(_ descriptor: Int32) {
        state.withLock { state in
            guard !state.outbox.isEmpty else { return }
            var number: Int32 = 0
            state.outbox.send { bytes in
                let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                if count < 0 { number = errno }
                return max(0, count)
            }
            // The daemon may have refused the request before it had read all of it: its answer is still to be read.
            if ![0, EAGAIN, EINTR].contains(number) { state.outbox.removeAll() }
        }
    }

    /// - Returns: Empty at the end of the connection.
    private func receive(_ descriptor: Int32) throws(ControlError) -> [UInt8]? {
        var number: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceByteCount) { bytes, count in
            let received = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
            if received < 0 { number = errno }
            count = max(0, received)
        }
        if [EAGAIN, EINTR].contains(number) { return nil }
        guard number == 0 else { throw .daemonUnreachable(String(cString: strerror(number))) }
        return piece
    }

    private func earliest(
        _ one: ContinuousClock.Instant?, _ other: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// Until when the next part of an answer may take.
    private struct Pace {
        let limit: Duration?
        private(set) var end: ContinuousClock.Instant?
        private var byteCount = 0

        init(limit: Duration?) { self.limit = limit }

        /// Notes bytes that have arrived and been handled.
        ///
        /// - Returns: Whether there is an end now, or a later one.
        mutating func took(_ count: Int, at time: ContinuousClock.Instant) -> Bool {
            guard let limit else { return false }
            byteCount += count
            guard let end, byteCount < ControlConnection.byteCountPerPace else {
                byteCount = 0
                self.end = .now + limit
                return true
            }
            self.end = end + time.duration(to: .now)
            return true
        }
    }

    private struct Pause {
        private let tick: Tick
        private(set) var next: ContinuousClock.Instant

        init(_ tick: Tick) {
            self.tick = tick
            next = .now + tick.interval
        }

        mutating func performIfDue() {
            guard next <= .now else { return }
            next = .now + tick.interval
            tick.perform()
        }
    }
}

/// The answer, as far as it has arrived.
private struct Answer {
    private var parser = ResponseParser()
    private var status = 0
    private var refusal = Data()

    /// Whether the head has arrived.
    var hasBegun: Bool { status != 0 }

    /// - Parameter piece: Empty at the end of the connection.
    /// - Returns: Whether the answer is complete.
    mutating func take(
        _ piece: [UInt8]?, onHead: () -> Void, onBody: ([UInt8]) throws(ControlError) -> Void
    ) throws(ControlError) -> Bool {
        guard let piece else { return false }
        parser.append(piece)
        while let part = try parser.next() {
            switch part {
            case .status(let number):
                status = number
                if number == 200 { onHead() }
            case .body(let bytes) where status == 200: try onBody(bytes)
            case .body(let bytes):
                refusal += bytes.prefix(ControlConnection.refusalByteLimit - refusal.count)
                // Nothing is read of the rest, which may have no end.
                if refusal.count == ControlConnection.refusalByteLimit { try end() }
            case .end:
                try end()
                return true
            }
        }
        guard piece.isEmpty else { return false }
        try parser.finish()
        try end()
        return true
    }

    private func end() throws(ControlError) {
        guard status == 200 else { throw ControlClient.refusal(status, refusal) }
    }
}
