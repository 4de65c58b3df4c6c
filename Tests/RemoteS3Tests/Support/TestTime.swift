import Foundation
import Synchronization

/// A clock that stands still until a test sets it.
final class TestTime: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_600_000_000))

    var now: Date {
        get { date.withLock { $0 } }
        set { date.withLock { $0 = newValue } }
    }
}

/// A value that closures can share.
final class Shared<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: consuming sending Mutex<Value>) { self.value = value }
}
