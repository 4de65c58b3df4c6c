import Foundation
import Remote
import Synchronization

@testable import RemoteS3

/// A store at a scripted server, whose delays are recorded and take no time.
final class TestStore: Sendable {
    let store: S3Store
    private let waits: Shared<[Duration]>
    private let retries: Shared<Int>

    /// - Parameters:
    ///   - limits: Short limits are for tests of servers that do not respond.
    ///   - chance: The random number that determines the jitter.
    init(
        endpoint: String, url: String = "s3://notes/box", limits: S3Limits = S3Limits(),
        variables: [String: String] = [:], now: @escaping @Sendable () -> Date = { Date() }, chance: Double = 1
    ) throws {
        let variables = [
            "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "ID",
            "AWS_SECRET_ACCESS_KEY": "hush",
        ].merging(variables) { $1 }
        let waits = Shared(Mutex<[Duration]>([]))
        self.waits = waits
        let retries = Shared(Mutex(0))
        self.retries = retries
        var environment = S3Environment.system
        environment.now = now
        environment.chance = { chance }
        environment.limits = limits
        environment.willRetry = { retries.value.withLock { $0 += 1 } }
        environment.sleep = { duration in
            // The timeouts of a transfer sleep for real.
            guard duration < min(limits.read, limits.send) else { return try await Task.sleep(for: duration) }
            waits.value.withLock { $0.append(duration) }
            try Task.checkCancellation()
        }
        store = S3Store(
            try S3Location(url, endpoint: endpoint, environment: variables), variables: variables,
            environment: environment)
    }

    /// The delays between attempts.
    var delays: [Duration] { waits.value.withLock { $0 } }

    /// How often the store said that it repeats a request.
    var retryCount: Int { retries.value.withLock { $0 } }

    /// Runs `body` with the store.
    func run<Value>(_ body: (S3Store) async throws -> Value) async throws -> Value { try await body(store) }
}
