extension IndexMigrations {
    /// Requests of the kernel that may come again.
    static let version17 = """
        -- The latest requests that were carried out and may come again, as they were not answered when the daemon was killed: see
        -- CarriedOutRequests. `request`: the kernel's number; `inode`: what it made or changed.
        CREATE TABLE requests(slot INTEGER PRIMARY KEY, request INTEGER NOT NULL, inode INTEGER NOT NULL);
        """
}
