import Foundation
import Model

/// Encoding and decoding of the container's JSON objects: keys are sorted, so that equal values give equal bytes.
enum ContainerCoding {
    /// The longest JSON text that is written or unpacked: 256 MiB.
    static let textByteLimit = 256 << 20

    /// The longest gzip object that is fetched: 64 MiB.
    static let objectByteLimit = 64 << 20

    static func encode(_ value: some Encodable, key: String) throws(StoreError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw StoreError(.invalid, key: key, "cannot be written: \(DecodingFault.sentence(error))")
        }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from text: [UInt8], key: String) throws(StoreError)
        -> Value
    {
        do {
            return try ForeignJSON.decode(type, from: Data(text))
        } catch let error as NewerFormat {
            throw StoreError(.invalid, key: key, error.sentence)
        } catch {
            throw StoreError(.corrupt, key: key, DecodingFault.sentence(error))
        }
    }

    /// Sets one member of a JSON object, or removes it, and keeps all others, also those that this version does not
    /// know.
    ///
    /// - Parameters:
    ///   - path: The names of the objects that it is in, and its own.
    ///   - value: `nil` to remove it.
    static func replacing(
        _ path: [String], with value: Int64?, in text: [UInt8], key: String
    ) throws(StoreError) -> [UInt8] {
        do {
            try ForeignJSON.check(Data(text))
            let object = try JSONSerialization.jsonObject(with: Data(text))
            let changed = replacing(path[...], with: value, in: object as? [String: Any] ?? [:])
            return Array(
                try JSONSerialization.data(withJSONObject: changed, options: [.sortedKeys, .withoutEscapingSlashes]))
        } catch {
            throw StoreError(.corrupt, key: key, DecodingFault.sentence(error))
        }
    }

    private static func replacing(
        _ path: ArraySlice<String>, with value: Int64?, in object: [String: Any]
    ) -> [String: Any] {
        guard let name = path.first else { return object }
        var object = object
        if path.count > 1 {
            object[name] = replacing(path.dropFirst(), with: value, in: object[name] as? [String: Any] ?? [:])
        } else {
            object[name] = value
        }
        return object
    }

    static func pack(_ text: [UInt8], key: String, _ effort: Gzip.Effort = .usual) throws(StoreError) -> [UInt8] {
        let limit = text.count <= textByteLimit
        let object = limit ? Gzip.compress(text, effort) : []
        guard limit, object.count <= objectByteLimit else {
            throw StoreError(.invalid, key: key, "too long to be written as one object")
        }
        return object
    }

    static func unpack(
        _ object: [UInt8], key: String, limit: Int = textByteLimit
    ) throws(StoreError) -> [UInt8] {
        guard let text = try unpackIfShort(object, key: key, limit: limit) else {
            throw StoreError(.corrupt, key: key, "unpacks to more than \(limit) bytes")
        }
        return text
    }

    /// - Returns: `nil` for a text longer than `limit` bytes.
    static func unpackIfShort(_ object: [UInt8], key: String, limit: Int) throws(StoreError) -> [UInt8]? {
        do throws(Gzip.Failure) {
            return try Gzip.decompress(object, limit: limit)
        } catch {
            switch error {
            case .damaged: throw StoreError(.corrupt, key: key, "not a whole gzip member")
            case .tooLong: return nil
            }
        }
    }
}

/// An object was written in a format that this version of Dewpoint does not know.
package struct NewerFormat: Error {
    let format: Int
    let supported: Int

    package init(format: Int, supported: Int) {
        self.format = format
        self.supported = supported
    }

    package var sentence: String {
        "it has format \(format), and this version of Dewpoint reads formats up to \(supported): update Dewpoint"
    }
}
