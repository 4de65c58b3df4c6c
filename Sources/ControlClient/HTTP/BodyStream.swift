import ControlAPI
import Dispatch
import Foundation
import Synchronization

/// The body of an answer that may never end, handed to one task part by part: the next part is read from the connection
/// when the task has taken the one before.
///
/// The connection ends with the last reference.
final class BodyStream: Sendable {
    private let connection: ControlConnection
    private let parts = Parts()

    init(socketPath: String) { connection = ControlConnection(socketPath: socketPath) }

    deinit {
        connection.cancel()
        parts.abandon()
    }

    /// Connects, and waits until the daemon has begun to answer.
    ///
    /// - Parameters:
    ///   - deadline: For the whole answer.
    ///   - pace: For each of its parts: see ``ControlConnection/Limits/pace``.
    func start(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant?, pace: Duration? = nil
    ) async throws(ControlError) {
        let (connection, parts) = (connection, parts)
        Thread.detachNewThread {
            do throws(ControlError) {
                let limits = ControlConnection.Limits(head: ControlRequests.quickLimit, pace: pace)
                try connection.run(request, deadline: deadline, limits: limits, onHead: { parts.begin() }) {
                    part throws(ControlError) in try parts.put(part)
                }
                parts.end(nil)
            } catch {
                parts.end(error)
            }
        }
        // The head arrives as an empty part.
        _ = try await next()
    }

    /// - Returns: `nil` when the answer is complete.
    /// - Throws: ``ControlError/cancelled`` when the caller's task is cancelled, which ends the connection.
    func next() async throws(ControlError) -> [UInt8]? {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { parts.take($0) }
        } onCancel: {
            connection.cancel()
            parts.abandon()
        }.get()
    }
}

/// At most one part on its way from the thread of the connection to a task.
private final class Parts: Sendable {
    typealias Taker = CheckedContinuation<Result<[UInt8]?, ControlError>, Never>

    private struct State {
        var part: [UInt8]?
        var end: Result<[UInt8]?, ControlError>?
        var taker: Taker?
    }

    private let state = Mutex(State())
    /// Counts the parts that were taken, and the end.
    private let room = DispatchSemaphore(value: 0)

    /// Puts the empty part of the head, without waiting for its taker.
    func begin() { offer([]) }

    /// Waits until the part before was taken.
    ///
    /// - Throws: ``ControlError/cancelled`` when nobody takes parts any more.
    func put(_ part: [UInt8]) throws(ControlError) {
        room.wait()
        guard offer(part) else { throw .cancelled }
    }

    @discardableResult private func offer(_ part: [UInt8]) -> Bool {
        let (taker, isOver) = state.withLock { state in
            defer { state.taker = nil }
            if state.end == nil, state.taker == nil { state.part = part }
            return (state.end == nil ? state.taker : nil, state.end != nil)
        }
        if let taker {
            room.signal()
            taker.resume(returning: .success(part))
        }
        return !isOver
    }

    func take(_ taker: Taker) {
        let (result, isPart) = state.withLock { state -> (Result<[UInt8]?, ControlError>?, Bool) in
            if let part = state.part {
                state.part = nil
                return (.success(part), true)
            }
            if state.end == nil { state.taker = taker }
            return (state.end, false)
        }
        if isPart { room.signal() }
        if let result { taker.resume(returning: result) }
    }

    func end(_ error: ControlError?) { end(error.map { .failure($0) } ?? .success(nil)) }

    /// Nobody takes parts any more.
    func abandon() {
        state.withLock { $0.part = nil }
        end(.failure(.cancelled))
    }

    private func end(_ result: Result<[UInt8]?, ControlError>) {
        let taker = state.withLock { state in
            defer { state.taker = nil }
            if state.end == nil { state.end = result }
            return state.taker
        }
        room.signal()
        taker?.resume(returning: result)
    }
}
