import Foundation
import Model

/// The text of a commit, and of its records' attributes.
///
/// `JSONEncoder` and `JSONDecoder` keep an object's members by `String`, so two attributes whose names differ in
/// composition only would be one to them: where a record has such names, its attributes are written and read here.
enum CommitText {
    static func encode(_ commit: Commit, key: String) throws(StoreError) -> [UInt8] {
        let text = try ContainerCoding.encode(commit, key: key)
        guard commit.records.contains(where: \.hasLookalikeAttributes) else { return text }
        do throws(JSONScan.Failure) {
            return try replacingAttributes(of: commit.records, in: text)
        } catch {
            throw StoreError(.invalid, key: key, "cannot be written: byte \(error.offset)")
        }
    }

    private static func replacingAttributes(
        of records: [ItemRecord], in text: [UInt8]
    ) throws(JSONScan.Failure) -> [UInt8] {
        var scan = JSONScan(text)
        guard let list = try scan.object(["records"])["records"] else { throw JSONScan.Failure(offset: 0) }
        var result: [UInt8] = []
        var position = 0
        var elements = JSONScan(text, in: list.range)
        for record in records {
            guard let element = try elements.nextElement() else {
                throw JSONScan.Failure(offset: list.range.upperBound)
            }
            guard record.hasLookalikeAttributes else { continue }
            var members = JSONScan(text, in: element.range)
            guard let attributes = try members.object(["xattrs"])["xattrs"] else {
                throw JSONScan.Failure(offset: element.range.lowerBound)
            }
            result += text[position..<attributes.range.lowerBound]
            result += object(of: record.xattrs)
            position = attributes.range.upperBound
        }
        return result + text[position...]
    }

    /// A JSON object, with its members in the order of their bytes.
    private static func object(of attributes: [AttributeName: Data]) -> [UInt8] {
        var text = Array("{".utf8)
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += quoted(name.string) + Array(":\"\(value.base64EncodedString())\"".utf8)
        }
        return text + [UInt8(ascii: "}")]
    }

    private static func quoted(_ name: String) -> [UInt8] {
        var text = Array("\"".utf8)
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
            case 0..<0x20: text += Array((byte < 0x10 ? "\\u000" : "\\u00").utf8) + Array(String(byte, radix: 16).utf8)
            default: text.append(byte)
            }
        }
        return text + [UInt8(ascii: "\"")]
    }

    /// The attributes of a record whose other members were decoded; of members with the same name, the first.
    ///
    /// - Parameter range: The record.
    static func attributes(
        in range: Range<Int>, of text: [UInt8], decoder: JSONDecoder
    ) throws -> [AttributeName: Data] {
        var record = JSONScan(text, in: range)
        guard let object = try record.object(["xattrs"])["xattrs"] else { return [:] }
        var members = JSONScan(text, in: object.range)
        var attributes: [AttributeName: Data] = [:]
        while let (quoted, value) = try members.nextMember() {
            let name = try decoder.decode(AttributeName.self, from: Data(text[quoted]))
            guard attributes[name] == nil else { continue }
            attributes[name] = try decoder.decode(Data.self, from: Data(text[value.range]))
        }
        return attributes
    }
}

extension ItemRecord {
    /// Whether two of its attributes have names that `String` takes for one.
    fileprivate var hasLookalikeAttributes: Bool {
        xattrs.count > 1 && Set(xattrs.keys.map(\.string)).count < xattrs.count
    }
}
