import Foundation

/// Printable text that does not compress or repeat. A call of the system for each byte would take half a minute.
///
/// - Parameter byteCount: A multiple of 4.
func randomText(byteCount: Int) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
    defer { try? file.close() }
    let bytes = try file.read(upToCount: byteCount / 4 * 3) ?? Data()
    precondition(bytes.count == byteCount / 4 * 3)
    return bytes.base64EncodedString()
}
