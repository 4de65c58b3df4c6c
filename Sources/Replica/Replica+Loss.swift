package import Model

extension Replica {
    /// Notes that the backing file of a local inode is missing: it was removed by another program.
    ///
    /// If the container still has the bytes, it becomes a placeholder, since absence is never a deletion.
    /// - Throws: `inputOutput` when the bytes were changed here and exist nowhere else.
    package func bytesAreMissing(_ number: InodeNumber) throws(FileError) {
        try change { transaction in
            let row = try transaction.rows.file(number)
            guard row.isLocal else { return }
            guard !row.isModified, let content = try transaction.rows.contents(of: number).content else {
                throw FileError(.inputOutput, "the only copy of \(number) is missing from the backing directory")
            }
            try transaction.becomePlaceholder(row, content: content, modified: row.attributes.modified)
        }
    }
}
