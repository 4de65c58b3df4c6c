import Crypto
import Foundation
import Model

extension RcloneRemote {
    /// The remote as the device that made the bytes of what is imported from it into a directory: the same on every machine
    /// on which it has the same spelling.
    ///
    /// A UUID of version 8, whose bits are of the implementer's choice. Source: RFC 9562 section 5.8.
    func maker(into destination: [ItemName]) -> DeviceID {
        var hasher = SHA256()
        hasher.update(data: Data("dewpoint import ".utf8))
        hasher.update(data: Data(Self.scheme.utf8))
        hasher.update(data: Data(string.utf8))
        for name in destination { hasher.update(data: Data([0] + name.string.utf8)) }
        var bytes = Array(hasher.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let uuid = bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        return DeviceID(uuid: UUID(uuid: uuid))
    }
}
