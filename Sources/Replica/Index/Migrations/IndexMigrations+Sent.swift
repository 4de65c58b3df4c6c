extension IndexMigrations {
    /// New items that may be in the container although their commit was not confirmed.
    static let version7 = """
        -- Items that the container was not known to have when they were sent, and the number of the commit that they went with. A commit may
        -- land although its answer is lost; until one of that number is applied here, nobody knows.
        CREATE TABLE sent(item BLOB PRIMARY KEY NOT NULL, number INTEGER NOT NULL) WITHOUT ROWID;
        """
}
