extension IndexMigrations {
    /// The times of older bytes: programs that compare times must not take them for the newer ones.
    static let version13 = """
        -- The modification time of the local bytes while newer ones are incoming, whose time `modified` is already. Without
        -- incoming bytes it has no meaning.
        ALTER TABLE inodes ADD COLUMN local_modified INTEGER;
        """
}
