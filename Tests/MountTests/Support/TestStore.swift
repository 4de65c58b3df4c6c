import Foundation
import S3Server
import Testing

/// Where the tests keep their containers: in directories, or, with `DEWPOINT_TEST_STORE=s3`, in a bucket of a real
/// server.
enum TestStore: String {
    case directory
    case s3

    static let chosen: TestStore = {
        let name = ProcessInfo.processInfo.environment["DEWPOINT_TEST_STORE"] ?? directory.rawValue
        guard let store = TestStore(rawValue: name) else {
            fatalError("DEWPOINT_TEST_STORE is \(name), but must be directory or s3")
        }
        return store
    }()

    /// Whether every container is encrypted, with `DEWPOINT_TEST_ENCRYPTED=1`.
    static let isEncrypted = ProcessInfo.processInfo.environment["DEWPOINT_TEST_ENCRYPTED"] == "1"

    /// Why the chosen store is not available here; `nil` if it is.
    static var unavailable: String? { chosen == .s3 ? S3Server.unavailable : nil }

    /// How long a change takes to reach the other device: a directory is watched, and a bucket is polled every second
    /// while there is activity and every 15 s otherwise.
    static var travelLimit: Duration { chosen == .s3 ? .seconds(30) : .seconds(10) }
}

extension Trait where Self == ConditionTrait {
    /// For a test that moves or changes the container's files directly.
    static var needsDirectory: Self {
        .enabled(if: TestStore.chosen == .directory, "it reaches into the directory that the container is")
    }

    /// For a test whose time limit only a store that reports changes can meet.
    static var needsHints: Self {
        .enabled(
            if: TestStore.chosen == .directory, "a bucket is asked now and then, a directory tells of changes at once")
    }
}
