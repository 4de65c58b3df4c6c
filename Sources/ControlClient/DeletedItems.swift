import ControlAPI
import Foundation
package import Model

/// The items in the trash, the latest deletion first, as the daemon sends them: a JSON array with each of them on a line
/// of its own.
package struct DeletedItems: AsyncSequence {
    let stream: BodyStream

    package func makeAsyncIterator() -> Iterator { Iterator(stream: stream) }

    package struct Iterator: AsyncIteratorProtocol {
        private let stream: BodyStream
        private var lines = LineReader.ofDaemon
        private var isComplete = false

        init(stream: BodyStream) { self.stream = stream }

        /// - Throws: ``ControlError/cancelled`` with the caller's task.
        package mutating func next() async throws(ControlError) -> DeletedItem? {
            while !isComplete {
                if let line = try nextLine() {
                    switch line {
                    case Data("[".utf8): continue
                    case Data("]".utf8), Data("[]".utf8): isComplete = true
                    default: return try ControlClient.decode(line.last == UInt8(ascii: ",") ? line.dropLast() : line)
                    }
                } else if let bytes = try await stream.next() {
                    lines.append(bytes)
                } else {
                    throw .notUnderstood("the list of deleted items is not complete")
                }
            }
            return nil
        }

        private mutating func nextLine() throws(ControlError) -> Data? {
            do { return try lines.next() } catch { throw .notUnderstood("\(error)") }
        }
    }
}
