import Model
import Testing
import VirtualTime

/// Runs a test and its devices in virtual time: it passes when all of them wait.
struct VirtualTimeTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let executor = VirtualTimeExecutor()
        try await VirtualTimeExecutor.$current.withValue(executor) {
            // On a thread of their own, blocking calls would be waits for something outside.
            try await BlockingWork.$isInline.withValue(true) {
                try await withTaskExecutorPreference(executor) { try await body() }
            }
        }
    }
}

extension Trait where Self == VirtualTimeTrait {
    static var virtualTime: Self { Self() }
}

/// Lets time pass.
///
/// When it returns, everything has been done that was due by then, and that it led to at once.
func pass(_ duration: Duration) async throws { try await VirtualTimeExecutor.sleep(duration) }

/// Lets time pass until `condition` holds.
/// - Returns: Whether it held within `limit`.
func holds(within limit: Duration = .seconds(120), _ condition: () async throws -> Bool) async throws -> Bool {
    let step = Duration.milliseconds(10)
    for _ in 0..<Int(limit / step) {
        if try await condition() { return true }
        try await pass(step)
    }
    return try await condition()
}
