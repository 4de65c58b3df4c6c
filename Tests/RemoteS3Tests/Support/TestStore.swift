import Foundation
import Remote
import Synchronization

@testable import RemoteS3

/// A store at a scripted server, whose delays are recorded and take no time but that of a clock of its own.
final class TestStore: Sendable {
    let store: S3Store
    private let waits: Shared<[Duration]>
    private let retries: Shared<Int>
    private let clock: Shared<Duration>
    private let corrections: Shared<[Duration]>

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
        let clock = Shared(Mutex(Duration.zero))
        self.clock = clock
        let corrections = Shared(Mutex<[Duration]>([]))
        self.corrections = corrections
        var environment = S3Environment.system
        environment.uptime = { clock.value.withLock { $0 } }
        environment.didCorrectClock = { offset in corrections.value.withLock { $0.append(offset) } }
        environment.now = now
        environment.chance = { chance }
        environment.limits = limits
        environment.willRetry = { retries.value.withLock { $0 += 1 } }
        environment.sleep = { duration in
            waits.value.withLock { $0.append(duration) }
            clock.value.withLock { $0 += duration }
            try Task.checkCancellation()
        }
        store = S3Store(
            try S3Location(url, endpoint: endpoint, environment: variables), variables: variables,
            environment: environment)
    }

    /// The time by the store's clock, which only its delays and a test advance.
    var uptime: Duration {
        get { clock.value.withLock { $0 } }
        set { clock.value.withLock { $0 = newValue } }
    }

    /// The corrections of this machine's clock that the store reported.
    var clockCorrections: [Duration] { corrections.value.withLock { $0 } }

    /// The delays between attempts.
    var delays: [Duration] { waits.value.withLock { $0 } }

    /// How often the store said that it repeats a request.
    var retryCount: Int { retries.value.withLock { $0 } }

    /// Runs `body` with the store.
    func run<Value>(_ body: (S3Store) async throws -> Value) async throws -> Value { try await body(store) }
}
