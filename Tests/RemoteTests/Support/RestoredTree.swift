import Foundation
import Glibc
import Model
import Programs
import Testing

@testable import Remote

/// Reads a tree from disk, byte for byte.
enum RestoredTree {
    struct Entry: Hashable {
        var kind = ItemKind.file
        var mode: UInt16
        var modified: Int64
        var byteCount = 0
        /// The hash of a file's bytes.
        var hash: ChunkHash?
        var target: String?
        var xattrs: [String: [UInt8]] = [:]

        init(
            kind: ItemKind = .file, mode: UInt16, modified: Int64, bytes: [UInt8]? = nil, target: String? = nil,
            xattrs: [String: [UInt8]] = [:]
        ) {
            self.kind = kind
            self.mode = mode
            self.modified = modified
            byteCount = bytes?.count ?? 0
            hash = bytes.map { ChunkHash(hashing: $0) }
            self.target = target
            self.xattrs = xattrs
        }
    }

    /// The entries by path, which is escaped so that equal text means equal bytes.
    static func read(_ root: String) async throws -> [String: Entry] {
        var entries: [String: Entry] = [:]
        try read(root, below: "", into: &entries)
        for (path, xattrs) in try await xattrs(root) { entries[path]?.xattrs = xattrs }
        return entries
    }

    /// The path with characters beyond ASCII written as code points: `String` treats é and é as the same key.
    static func escape(_ path: String) -> String {
        path.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
    }

    private static func read(_ root: String, below path: String, into entries: inout [String: Entry]) throws {
        for name in try names(root + path) {
            let itemPath = "\(path)/\(name)"
            var status = stat()
            try #require(lstat(root + itemPath, &status) == 0)
            var entry = Entry(
                mode: UInt16(status.st_mode & 0o7777),
                modified: Timestamp(
                    seconds: Int64(status.st_mtim.tv_sec), nanoseconds: Int64(status.st_mtim.tv_nsec)
                ).rawValue)
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                entry.kind = .directory
                try read(root, below: itemPath, into: &entries)
            case S_IFLNK:
                entry.kind = .symbolicLink
                entry.target = try FileManager.default.destinationOfSymbolicLink(atPath: root + itemPath)
            default:
                let bytes = Array(try Data(contentsOf: URL(filePath: root + itemPath)))
                entry.byteCount = bytes.count
                entry.hash = ChunkHash(hashing: bytes)
            }
            entries[escape(String(itemPath.dropFirst()))] = entry
        }
    }

    private static func names(_ path: String) throws -> [String] {
        let directory = try #require(opendir(path))
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let offset = try #require(MemoryLayout<dirent>.offset(of: \.d_name))
            names.append(String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)))
        }
        return names.filter { $0 != "." && $0 != ".." }
    }

    /// The `user.*` attributes below a directory, by escaped path. Python reads them: the Glibc module lacks the
    /// calls.
    private static func xattrs(_ root: String) async throws -> [String: [String: [UInt8]]] {
        let script = """
            import base64, json, os, sys
            root = sys.argv[1]
            paths = [os.path.join(top, name) for top, tops, names in os.walk(root) for name in tops + names]
            def attributes(path):
                names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith("user.")]
                return {name: base64.b64encode(os.getxattr(path, name)).decode() for name in names}
            json.dump([[os.path.relpath(path, root), attributes(path)] for path in paths], sys.stdout)
            """
        let result = try await Program.result(of: ["python3", "-c", script, root])
        try #require(result.status == 0, "\(result.errors)")
        struct Line: Decodable {
            let path: String
            let xattrs: [String: Data]

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                path = try container.decode(String.self)
                xattrs = try container.decode([String: Data].self)
            }
        }
        let lines = try JSONDecoder().decode([Line].self, from: Data(result.output.utf8))
        return Dictionary(uniqueKeysWithValues: lines.map { (escape($0.path), $0.xattrs.mapValues(Array.init)) })
    }
}
