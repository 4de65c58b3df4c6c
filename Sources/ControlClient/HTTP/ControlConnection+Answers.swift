import Foundation
import Synchronization

extension ControlConnection {
    /// Sends a request, and blocks until its whole answer has arrived.
    ///
    /// - Throws: ``ControlError/notUnderstood(_:)`` for one longer than ``ControlClient/answerByteLimit``.
    func wholeAnswer(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant?
    ) throws(ControlError) -> Data {
        var data = Data()
        try run(request, deadline: deadline, limits: Limits(body: ControlClient.bodyLimit)) {
            part throws(ControlError) in
            guard data.count + part.count <= ControlClient.answerByteLimit else {
                throw .notUnderstood("longer than \(ControlClient.answerByteLimit >> 20) MiB")
            }
            data += part
        }
        return data
    }

    /// The same on a thread of its own: no thread of the cooperative pool is blocked.
    ///
    /// - Throws: ``ControlError/cancelled`` when the caller's task is cancelled.
    func data(
        _ request: HTTPRequest, deadline: ContinuousClock.Instant?
    ) async throws(ControlError) -> Data {
        try await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: CheckedContinuation<Result<Data, ControlError>, Never>) in
                Thread.detachNewThread {
                    answer.resume(
                        returning: Result { () throws(ControlError) in
                            try self.wholeAnswer(request, deadline: deadline)
                        })
                }
            }
        } onCancel: {
            cancel()
        }.get()
    }
}
