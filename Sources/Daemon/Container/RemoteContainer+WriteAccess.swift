import Remote
import RemoteS3

/// What is said of a store that refuses writing.
extension RemoteContainer {
    /// Why a device that is enrolled as a reader, or not at all, may not write.
    static let readerReason =
        "the keyring lets this device only read; to let it write, enrol it anew, see: dewpoint help key accept"

    /// Why the mount is read-only and what to do about it, in a sentence; `nil` when the store lets this device write.
    var readOnlyNotice: String? {
        access.refusal.map { reason in
            if reason == Self.readerReason { return "the mount is read-only: \(reason)" }
            let isBucket = url.lowercased().hasPrefix(S3Location.scheme)
            return "the store at \(url) refuses writing, so the mount is read-only; if that is not intended, give "
                + "\(isBucket ? "these keys" : "this user") the right to write, then unmount and mount again: \(reason)"
        }
    }
}

extension Container {
    /// Whether the store lets this device change the container.
    ///
    /// - Parameter limit: How long to wait: a call that hangs, as on a network directory, is not waited for any longer.
    /// - Returns: `nil` when the store does not say so in time.
    func writeAccess(within limit: Duration) async -> WriteAccess? {
        let (answers, answer) = AsyncStream.makeStream(of: WriteAccess?.self, bufferingPolicy: .bufferingOldest(1))
        let question = Task {
            // Why it does not say so is found and reported when the log is followed.
            answer.yield(try? await writeAccess())
        }
        let end = Task {
            try? await Task.sleep(for: limit)  // cancelled: answered
            answer.yield(nil)
        }
        defer {
            question.cancel()
            end.cancel()
        }
        for await access in answers { return access }
        return nil
    }
}
