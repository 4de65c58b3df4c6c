extension IndexMigrations {
    /// When the next commits of devices are due.
    static let version16 = """
        -- The newest commit of each device that promises another one: its time, as far as it is not still to come, and within how
        -- many seconds the next one follows.
        CREATE TABLE heartbeats(device TEXT PRIMARY KEY NOT NULL, time INTEGER NOT NULL, seconds INTEGER NOT NULL)
        WITHOUT ROWID;
        """
}
