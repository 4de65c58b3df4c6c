extension IndexMigrations {
    /// Previews that wait to be uploaded.
    static let version18 = """
        -- The preview of a file's bytes as they were with this size and this mtime, until a commit has it; empty: the one in the
        -- container is to go.
        CREATE TABLE previews(inode INTEGER PRIMARY KEY, modified INTEGER NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL);
        CREATE TRIGGER previews_removed AFTER DELETE ON inodes WHEN OLD.kind = 0 BEGIN
            DELETE FROM previews WHERE inode = OLD.id;
        END;
        """
}
