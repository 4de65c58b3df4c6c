extension IndexMigrations {
    /// The name of the column that records whether a file's bytes are local, as everywhere else.
    static let version8 = """
        ALTER TABLE inodes RENAME COLUMN here TO local;
        """
}
