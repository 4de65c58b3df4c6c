import Model
import Replica

/// Previews go with the bytes that they are of, or after them.
extension Uploader {
    /// What an upload does with the preview of a file.
    enum PreviewUpload {
        case set(ChunkHash, byteCount: Int)
        case removal
    }

    /// Reads the preview that waits for a file that is uploaded whole.
    func takePreview(of candidate: inout Candidate, into upload: inout ContentUpload) throws(FileError) {
        guard let number = candidate.inode, !candidate.isPlaceOnly, !candidate.isCopy,
            let waiting = try replica.read({ try $0.waitingPreview(of: number) })
        else { return }
        if waiting.isOutdated {
            return try replica.change { try $0.previews.forget(number, isOutdated: true) }
        }
        switch waiting.preview {
        case .removal: candidate.preview = .removal
        case .set(let bytes): candidate.preview = .set(upload.add(preview: bytes), byteCount: bytes.count)
        }
    }

    /// Names the preview in the record, once its bytes and those of the file are in the container.
    func setPreview(of candidate: inout Candidate, _ upload: ContentUpload) throws(FileError) {
        guard candidate.record?.kind == .file, case .put(let entry, let inode, _, _) = candidate.pending.change else {
            return
        }
        var preview: ItemPreview? =
            switch candidate.preview {
            case .removal: nil
            case .set(let hash, let byteCount):
                upload.place(ofPreview: hash).flatMap {
                    ItemPreview(hash: hash, pack: $0.pack, offset: $0.offset, byteCount: byteCount)
                }
            case nil: try preview(of: candidate.record?.content, entry, inode)
            }
        if let pack = preview?.pack, try replica.read({ try $0.isCondemned(.pack(pack)) }) { preview = nil }
        candidate.record?.preview = preview
    }

    /// The preview of bytes that the container has, of the item or of another name of its file.
    private func preview(
        of content: ItemRecord.Reference?, _ entry: Entry, _ inode: Inode
    ) throws(FileError) -> ItemPreview? {
        let isAlone = inode.attributes.linkCount == 1
        let names = isAlone ? [entry] : try replica.read { try $0.entries(of: entry.inode) }
        return names.lazy.compactMap(\.base).first { $0.content == content && $0.preview != nil }?.preview
    }
}
