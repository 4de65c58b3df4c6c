import Model
import Testing

@testable import Daemon

@Suite struct StoreNotificationTests {
    private func notification(_ text: String, prefix: String = "") -> StoreNotification {
        StoreNotification(Array(text.utf8), prefix: prefix)
    }

    private func key(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 20 - digits.count) + digits
    }

    @Test(arguments: ["log/", "team/notes/log/", "log%2F", "log%2f", "log\\/"])
    func `the newest commit is found in what S3, its likes and proxies send`(prefix: String) {
        let text = """
            {"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"\(prefix)\(key(41))","size":9}}},
            {"s3":{"object":{"key":"\(prefix)\(key(42))"}}},{"s3":{"object":{"key":"packs/0123"}}}]}
            """
        #expect(notification(text) == .commit(42))
    }

    @Test func `commits of other containers in the bucket are other objects`() {
        let text = #"{"key":"team/notes/log/\#(key(7))"} {"key":"team%2Fwork%2Flog%2F\#(key(9))"} "#
        #expect(notification(text, prefix: "team/notes/") == .commit(7))
        #expect(notification(text, prefix: "team/work/") == .commit(9))
        #expect(notification(text, prefix: "team/other/") == .others)
    }

    @Test func `other objects are no reason to look, and an empty call is one`() {
        #expect(notification(#"{"Records":[{"s3":{"object":{"key":"packs/0123"}}}]}"#) == .others)
        #expect(notification("") == .unknown)
        #expect(notification("something") == .unknown)
    }

    @Test func `numbers that no commit has are not taken for one`() {
        #expect(notification(#"{"key":"log/\#(key(.max))"}"#) == .others)
        #expect(notification(#"{"key":"log/\#(key(Commit.highestNumber))"}"#) == .commit(Commit.highestNumber))
        #expect(notification(#"{"key":"log/99999999999999999999"}"#) == .others)
        #expect(notification(#"{"key":"log/1"}"#) == .others)
        #expect(notification(#"{"key":"log/"#) == .others)
    }
}
