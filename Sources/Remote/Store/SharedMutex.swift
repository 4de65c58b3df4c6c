package import Synchronization

/// A mutex that closures can share.
package final class SharedMutex<Value: Sendable>: Sendable {
    package let value: Mutex<Value>

    package init(_ value: consuming sending Mutex<Value>) { self.value = value }
}
