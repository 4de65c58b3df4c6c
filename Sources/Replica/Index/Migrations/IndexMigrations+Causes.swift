extension IndexMigrations {
    /// Who caused downloads.
    static let version11 = """
        -- The last download of a file: who caused it, in words, when it was requested, and when its bytes came (NULL: not yet).
        -- At most one row for an inode, gone with its bytes.
        CREATE TABLE causes(inode INTEGER PRIMARY KEY, cause TEXT NOT NULL, requested INTEGER NOT NULL, arrived INTEGER);
        CREATE TRIGGER causes_removed AFTER DELETE ON inodes WHEN OLD.kind = 0 BEGIN
            DELETE FROM causes WHERE inode = OLD.id;
        END;
        CREATE TRIGGER causes_evicted AFTER UPDATE OF local ON inodes WHEN OLD.kind = 0 AND OLD.local > NEW.local BEGIN
            DELETE FROM causes WHERE inode = OLD.id;
        END;
        """
}
