import Glibc

/// Whether this process has CAP_SYS_ADMIN, which pass-through requires. Related: capabilities(7).
enum AdministratorCapability {
    private static let number = 21

    static var isEffective: Bool {
        guard let file = fopen("/proc/self/status", "re") else { return geteuid() == 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            guard strncmp(line, "CapEff:", 7) == 0 else { continue }
            return strtoull(Array(line[7...]), nil, 16) >> number & 1 == 1
        }
        return geteuid() == 0
    }
}
