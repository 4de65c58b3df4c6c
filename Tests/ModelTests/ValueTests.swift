import Foundation
import Glibc
import Model
import Testing

@Suite struct ValueTests {
    @Test(arguments: [(0, 0), (1, 5), (-1, 999_999_999), (-2, 1)] as [(Int64, Int64)])
    func `a timestamp preserves seconds and nanoseconds, also before 1970`(_ seconds: Int64, _ nanoseconds: Int64) {
        let timestamp = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
        #expect(timestamp.seconds == seconds)
        #expect(timestamp.nanoseconds == nanoseconds)
    }

    @Test func `a timestamp out of range is clamped`() {
        #expect(Timestamp(seconds: .max, nanoseconds: 0).rawValue == .max)
        #expect(Timestamp(seconds: .min, nanoseconds: 0).rawValue == .min)
    }

    @Test(arguments: ["iCloud.com.example.Notes", "iCloud.a"])
    func `a container identifier starts with iCloud`(_ text: String) {
        #expect(ContainerIdentifier(text)?.description == text)
    }

    @Test(arguments: ["", "iCloud.", "com.example", "iCloud.a..b", "iCloud.a/b", "iCloud.a b"])
    func `an invalid container identifier is rejected`(_ text: String) {
        #expect(ContainerIdentifier(text) == nil)
    }

    @Test func `a chunk hash is written as 64 lowercase hex digits`() {
        let text = String(repeating: "0a", count: 32)
        #expect(ChunkHash(text)?.description == text)
        #expect(ChunkHash(text.uppercased()) == nil)
        #expect(ChunkHash(String(text.dropLast())) == nil)
    }

    @Test func `error codes have distinct errno values except for five shared ones`() {
        let numbers = Dictionary(grouping: FileError.Code.allCases) { FileError($0, "").errno }
        #expect(numbers[EINVAL] == [.badName, .invalid])
        #expect(numbers[EEXIST] == [.exists, .attributeExists])
        #expect(numbers[EDEADLK] == [.deadlock, .downloadRefused])
        #expect(numbers[EBUSY] == [.busy, .treeIncomplete])
        #expect(numbers[EIO] == [.notLocal, .corrupt, .inputOutput])
        #expect(numbers.values.filter { $0.count > 1 }.count == 5)
    }
}
