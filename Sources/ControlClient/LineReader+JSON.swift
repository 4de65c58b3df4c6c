import ControlAPI
import Foundation
import Model

extension LineReader {
    /// Reads what the daemon sends. The longest line accepted is 32 MiB: 1024 paths of 4 KiB, with every byte escaped,
    /// take 24 MiB.
    static var ofDaemon: LineReader { LineReader(byteLimit: 32 << 20) }

    /// - Returns: `nil` until another line has arrived.
    /// - Throws: ``ControlError/notUnderstood(_:)`` for a line that is not a value of that type, or too long.
    mutating func next<Value: Decodable>(_ type: Value.Type) throws(ControlError) -> Value? {
        do {
            return try next().map { try ControlJSON.decode(type, from: $0) }
        } catch {
            throw .notUnderstood(DecodingFault.sentence(error))
        }
    }
}
