import Glibc
import Linux
import Model

extension FileWrapper.Content {
    /// Reads an item.
    ///
    /// - Parameter former: The wrapper that is read again: it gives the contents that are unchanged on disk.
    static func read(
        _ url: URL, options: FileWrapper.ReadingOptions, former: FileWrapper?
    ) throws(CocoaError) -> (FileWrapper.Content, ItemSignature) {
        let signature: ItemSignature
        do {
            signature = try ItemSignature(url)
            switch signature.kind {
            case .file: return (try file(url, signature, options: options, former: former), signature)
            case .directory:
                let children = try children(url, options: options, former: former)
                return (.directory(FileWrapperChildren(byKey: children)), signature)
            case .symbolicLink: return (.link(try destination(url)), signature)
            case .other: throw FileError(.unsupported, url.path)
            }
        } catch let error as FileError {
            throw error.whileReading(url)
        } catch let error as CocoaError {
            throw error
        } catch {
            throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: error])
        }
    }

    private static func file(
        _ url: URL, _ signature: ItemSignature, options: FileWrapper.ReadingOptions, former: FileWrapper?
    ) throws -> FileWrapper.Content {
        if let former, case .bytes(let data) = former.content, former.signature?.hasSameContents(as: signature) == true
        {
            return .bytes(data)
        }
        return options.contains(.immediate) ? .bytes(try Data(contentsOf: url)) : .unread(url)
    }

    private static func children(
        _ url: URL, options: FileWrapper.ReadingOptions, former: FileWrapper?
    ) throws -> [ItemPath: FileWrapper] {
        var known: [ItemPath: FileWrapper] = [:]
        if case .directory(let former)? = former?.content { known = former.byKey }
        var children: [ItemPath: FileWrapper] = [:]
        for name in try SystemCalls.names(in: url.path).map({ ItemPath($0) }) {
            let place = url.appendingPathComponent(name.string)
            if let child = known[name], child.filename.map(ItemPath.init) == name {
                if !child.matchesContents(of: place) || options.contains(.immediate) {
                    try child.read(from: place, options: options)
                }
                children[name] = child
            } else {
                children[name] = try FileWrapper(url: place, options: options)
            }
        }
        return children
    }

    private static func destination(_ url: URL) throws(FileError) -> URL {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = try SystemCalls.check("readlink", url.path) { readlink(url.path, &target, target.count - 1) }
        let path = String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        // Relative to the directory of the link, but written back as it was.
        return URL(fileURLWithPath: path, relativeTo: url.deletingLastPathComponent())
    }

    /// What ``FileWrapper/matchesContents(of:)`` compares.
    func matches(_ url: URL, _ signature: ItemSignature?) -> Bool {
        guard let current = try? ItemSignature(url) else { return false }
        switch self {
        case .bytes, .unread: return signature?.hasSameContents(as: current) == true
        case .link(let destination):
            guard current.kind == .symbolicLink, let target = try? Self.destination(url) else { return false }
            return target.relativePath.isBytewiseEqual(to: destination.relativePath)
        case .directory(let children):
            guard current.kind == .directory, let names = try? SystemCalls.names(in: url.path) else { return false }
            return Set(names.map { ItemPath($0) }) == Set(children.byKey.keys)
                && children.byKey.allSatisfy { $0.value.matchesContents(of: url.appendingPathComponent($0.key.string)) }
        }
    }
}
