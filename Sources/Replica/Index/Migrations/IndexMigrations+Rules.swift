extension IndexMigrations {
    /// The rules of directories.
    static let version19 = """
        -- The limits that directories have of their own, by the name of the rule: milliseconds or bytes, 0 when it is off there.
        CREATE TABLE rules(inode INTEGER NOT NULL, rule TEXT NOT NULL, value INTEGER NOT NULL, PRIMARY KEY(inode, rule))
            WITHOUT ROWID;

        -- Directories whose files longer than `above` bytes are still to be listed as small ones, those up to the name `after`
        -- excepted: see SmallFileWalk.swift.
        CREATE TABLE small_walks(directory INTEGER PRIMARY KEY, above INTEGER NOT NULL,
            after TEXT NOT NULL DEFAULT '' COLLATE BINARY);

        CREATE TRIGGER rules_removed AFTER DELETE ON inodes WHEN OLD.kind = 1 BEGIN
            DELETE FROM rules WHERE inode = OLD.id;
            DELETE FROM small_walks WHERE directory = OLD.id;
        END;
        """
}
