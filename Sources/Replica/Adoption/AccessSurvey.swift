import CLinux
import Glibc
import Linux
package import Model

/// What objects of a directory have that decides who may do what with them, and that a mount does not have: access lists and
/// capabilities. Changes nothing.
package struct AccessSurvey: Sendable {
    package struct Finding: Hashable, Sendable, Encodable {
        /// From the directory on; `.` for itself. What is not UTF-8 in it is replaced.
        package let path: String
        package let reason: String
    }

    /// How many findings are kept; the others are counted.
    package static let findingLimit = 1000

    package private(set) var findings: [Finding] = []
    package private(set) var count = 0
    private let device: UInt64

    private static let reasons: KeyValuePairs = [
        AccessList.attribute: "an access list (ACL)", AccessList.defaultAttribute: "an access list for new files",
        "security.capability": "capabilities",
    ]

    /// - Throws: The error of opening the directory.
    package init(of path: String) throws(FileError) {
        let root = try SystemCalls.openDirectory(resolved: path)
        device = try root.status().device
        note(root.extendedAttributeNames, at: [])
        try look(in: root, at: [])
    }

    /// - Parameter path: The names from the directory on.
    private mutating func look(in directory: Descriptor, at path: [[UInt8]]) throws(FileError) {
        var names: [(name: [CChar], isDirectory: Bool)] = []
        try SystemCalls.forEachName(in: directory) { name, type in
            let isDirectory = Int(type) == DT_DIR || Int(type) == DT_UNKNOWN
            names.append((Array(UnsafeBufferPointer(start: name, count: strlen(name) + 1)), isDirectory))
        }
        for (name, isDirectory) in names {
            let inner = path + [name.dropLast().map { UInt8(bitPattern: $0) }]
            // What has gone, or cannot be looked at, is judged when it is taken over.
            guard let object = try? HeldObject(name, in: directory) else { continue }
            note(object.attributeNames, at: inner)
            guard isDirectory, inner.count < Self.depthLimit, let status = try? object.descriptor.status(),
                ItemKind(status) == .directory, status.device == device
            else { continue }
            try look(in: object.descriptor, at: inner)
        }
    }

    /// How deep directories may nest, as in a mount.
    private static let depthLimit = 4096

    private mutating func note(_ names: [String], at path: [[UInt8]]) {
        let found = Self.reasons.filter { reason in names.contains { $0.isBytewiseEqual(to: reason.key) } }.map(\.value)
        guard !found.isEmpty else { return }
        count += 1
        guard findings.count < Self.findingLimit else { return }
        let text = String(decoding: Array(path.joined(separator: [UInt8(ascii: "/")])), as: UTF8.self)
        findings.append(Finding(path: path.isEmpty ? "." : text, reason: found.joined(separator: ", ")))
    }
}
