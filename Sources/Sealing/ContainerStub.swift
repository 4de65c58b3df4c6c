package import Foundation
import Model
import Remote

/// `container.json` of a sealed container: in plain text, and no more than which container it is. What it is in a plain
/// container is sealed, and elsewhere.
package struct ContainerStub: Codable, Sendable {
    private let format: Int
    package let uuid: UUID

    /// The member that the description of every container has.
    private struct Format: Decodable {
        var format: Int
    }

    static let key = "container.json"

    package init(uuid: UUID) {
        format = Keyring.format
        self.uuid = uuid
    }

    /// - Returns: `nil` for a text that is none.
    init?(_ text: [UInt8]) {
        guard let stub = try? ForeignJSON.decode(Self.self, from: Data(text)), stub.format == Keyring.format else {
            return nil
        }
        self = stub
    }

    /// As it is written: on one line, with its members in order.
    package var text: String { #"{"format":\#(format),"uuid":"\#(uuid.uuidString)"}"# }

    /// Refuses a text that is no stub although its format is that of one, or a newer one.
    ///
    /// - Throws: ``StoreError`` with `corrupt` or `invalid`.
    static func refuseFormat(of text: [UInt8]) throws(StoreError) {
        guard let found = try? ForeignJSON.decode(Format.self, from: Data(text)), found.format >= Keyring.format else {
            return
        }
        guard found.format == Keyring.format else {
            let newer = NewerFormat(format: found.format, supported: Keyring.format)
            throw StoreError(.invalid, key: key, newer.sentence)
        }
        throw StoreError(.corrupt, key: key, "uuid is missing, or is none")
    }

    /// Checks that a store has this one: whoever does not know the container finds it by that, and a device that does
    /// could else write for ever where nobody can follow. One request, where nothing is wrong.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is none, `corrupt` when it is another one; both say what is
    ///   to be there. With `invalid` when it needs a newer version.
    func verify(in base: any ObjectStore) async throws(StoreError) {
        guard try await fault(in: base) != nil else { return }
        // What was cut on its way looks like another one: what is seen twice is believed.
        if let fault = try await fault(in: base) { throw fault }
    }

    private func fault(in base: any ObjectStore) async throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            try check(try await Container.read(base), in: base)
            return nil
        } catch {
            switch error.code {
            case .notFound: return StoreError(.notFound, key: Self.key, "it is missing; put it back as \(text)")
            case .corrupt: return StoreError(.corrupt, key: Self.key, "\(error.detail); put it back as \(text)")
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .invalid, .cancelled: throw error
            }
        }
    }

    private func check(_ found: [UInt8], in base: any ObjectStore) throws(StoreError) {
        let other: String
        if let stub = ContainerStub(found) {
            if stub.uuid == uuid { return }
            other = "another encrypted container, \(stub.uuid.uuidString.lowercased())"
        } else {
            try Self.refuseFormat(of: found)
            other = "a plain container, \(try Container.open(found, in: base).identity.id)"
        }
        throw StoreError(.corrupt, key: Self.key, "it is that of \(other)")
    }
}
