import Glibc
package import Model

/// A system call that failed.
package struct FailedCall: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's name; that of `open(2)` for `openat(2)` too.
    package let call: String
    package let number: Int32

    /// - Parameter number: That of the last call of this thread, if it is not stated.
    package init(_ call: String, _ number: Int32 = errno) {
        self.call = call
        self.number = number
    }

    package var description: String { "\(call)(2): \(String(cString: strerror(number)))" }
}

extension FileError {
    /// Translates a failed system call, which is then the cause.
    ///
    /// - Parameter detail: The call and its arguments, as in `rename a -> b`; by default the call's name.
    package init(_ failure: FailedCall, _ detail: String? = nil) {
        self.init(
            Code(errno: failure.number), "\(detail ?? failure.call): \(String(cString: strerror(failure.number)))",
            cause: failure)
    }

    /// The number of the failed call that caused it, or else the one that stands for its code.
    package var number: Int32 { (cause as? FailedCall)?.number ?? errno }
}
