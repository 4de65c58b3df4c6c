import Glibc
import Linux
import Model

/// Writes a tree of wrappers.
struct FileWrapperWriter {
    let updatesNames: Bool

    /// - Parameters:
    ///   - original: The former state of this wrapper's item, whose unchanged files are hard-linked.
    ///   - mayOverwrite: Whether an existing file is overwritten.
    func write(_ wrapper: FileWrapper, to url: URL, original: URL?, mayOverwrite: Bool) throws(CocoaError) {
        switch wrapper.content {
        case .directory(let children): try writeDirectory(children, to: url, original: original)
        case .link(let destination):
            guard symlink(destination.relativePath, url.path) == 0 else {
                throw FileError(FailedCall("symlink")).whileWriting(url)
            }
        case .bytes, .unread: try writeFile(wrapper, to: url, original: original, mayOverwrite: mayOverwrite)
        }
        applyPermissions(of: wrapper, to: url)
        guard updatesNames else { return }
        wrapper.filename = url.fileName
        guard let signature = try? ItemSignature(url) else { return }
        wrapper.signature = signature
        wrapper.fileAttributes.merge(FileWrapper.attributes(signature)) { _, new in new }
    }

    private func writeDirectory(_ children: FileWrapperChildren, to url: URL, original: URL?) throws(CocoaError) {
        guard mkdir(url.path, 0o777) == 0 else { throw FileError(FailedCall("mkdir")).whileWriting(url) }
        for (key, child) in children.inOrder {
            let former = child.filename.flatMap { name in original?.appendingPathComponent(name) }
            try write(child, to: url.appendingPathComponent(key.string), original: former, mayOverwrite: false)
        }
    }

    private func writeFile(
        _ wrapper: FileWrapper, to url: URL, original: URL?, mayOverwrite: Bool
    ) throws(CocoaError) {
        if let original, isUnchanged(wrapper, original), link(original.path, url.path) == 0 { return }
        do {
            switch wrapper.content {
            case .unread(let source) where source.standardizedFileURL == url.standardizedFileURL && mayOverwrite: break
            case .unread(let source) where !mayOverwrite: try FileManager.default.copyItem(at: source, to: url)
            default:
                guard let data = wrapper.regularFileContents else {
                    throw FileError(.inputOutput, url.path).whileReading(url)
                }
                try data.write(to: url, options: mayOverwrite ? [] : .withoutOverwriting)
            }
        } catch let error as CocoaError {
            throw error
        } catch {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path, NSUnderlyingErrorKey: error])
        }
    }

    /// Whether the file at `original` still is what the wrapper was read from or written to.
    private func isUnchanged(_ wrapper: FileWrapper, _ original: URL) -> Bool {
        guard let known = wrapper.signature, let current = try? ItemSignature(original) else { return false }
        return known.isSameFile(as: current) && known.hasSameContents(as: current)
            && permissions(of: wrapper) == Int(current.permissions)
    }

    private func permissions(of wrapper: FileWrapper) -> Int? {
        (wrapper.fileAttributes[FileAttributeKey.posixPermissions.rawValue] as? NSNumber)?.intValue
    }

    private func applyPermissions(of wrapper: FileWrapper, to url: URL) {
        guard !wrapper.isSymbolicLink, let wanted = permissions(of: wrapper),
            let current = try? ItemSignature(url).permissions, Int(current) != wanted
        else { return }
        // As far as the caller may.
        if chmod(url.path, mode_t(wanted & 0o7777)) != 0 { errno = 0 }
    }
}
