extension IndexMigrations {
    /// Removed files, which a power failure may bring back.
    static let version6 = """
        -- The identity on the disk of what was removed, replaced or evicted since the whole disk was last synced, in the order in
        -- which that happened.
        CREATE TABLE removed(id INTEGER PRIMARY KEY, backing INTEGER NOT NULL, born INTEGER NOT NULL);
        """
}
