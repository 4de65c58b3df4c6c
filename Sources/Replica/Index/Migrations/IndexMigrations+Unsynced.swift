extension IndexMigrations {
    /// What is on this device only can be counted, and looked through by its names, without a walk.
    static let version14 = """
        CREATE INDEX entries_unsynced ON entries(name, inode) WHERE item IS NULL;
        """
}
