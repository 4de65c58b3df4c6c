import Foundation
import Synchronization

/// A time that stands still until a test moves it.
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
