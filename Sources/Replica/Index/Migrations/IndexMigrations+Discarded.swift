extension IndexMigrations {
    /// Versions that are no longer listed.
    static let version9 = """
        -- Earlier versions and resolved conflict versions of an item that the user discarded here, by the ids that people see, and when.
        CREATE TABLE discarded(item BLOB NOT NULL, version TEXT NOT NULL, time INTEGER NOT NULL,
            PRIMARY KEY(item, version)) WITHOUT ROWID;
        """
}
