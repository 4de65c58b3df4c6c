package import Model

extension Replica {
    /// Takes note that the backing file of an inode that should be here is gone: somebody else removed it.
    ///
    /// What the container still has becomes a placeholder, since absence is never a deletion.
    /// - Throws: `inputOutput` when the bytes were changed here and are nowhere else.
    package func bytesAreMissing(_ number: InodeNumber) throws(FileError) {
        try change { transaction in
            let row = try transaction.rows.file(number)
            guard row.isLocal else { return }
            guard !row.isModified, let content = try transaction.rows.contents(of: number).content else {
                throw FileError(.inputOutput, "the only bytes of \(number) are gone from the backing directory")
            }
            try transaction.becomePlaceholder(row, content: content, modified: row.attributes.modified)
        }
    }
}
