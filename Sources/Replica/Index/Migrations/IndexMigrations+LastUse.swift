extension IndexMigrations {
    /// The times of last use, for eviction.
    static let version5 = """
        -- `used`: when the file was last opened or closed, or came; brought up to date now and then. The index has all columns
        -- that are asked for, so that a look does not read the table.
        ALTER TABLE inodes ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
        UPDATE inodes SET used = changed WHERE here = 1 AND kind = 0;
        CREATE INDEX inodes_used ON inodes(used, id, blocks, here, kind) WHERE here = 1 AND kind = 0;
        """
}
