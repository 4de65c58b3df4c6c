import Model
import Remote
import Replica

/// Compares the replica with itself and with the container.
struct ContainerCheck {
    let replica: Replica
    let store: PackStore

    func run() async throws(FileError) -> [String] {
        var problems = try replica.check()
        var packs: [PackID: Int64] = [:]
        for number in try replica.filesBelow(.root) {
            // A file that goes while the check runs is not wrong.
            guard let inode = try? replica.inode(number), let content = inode.incoming ?? inode.content else {
                continue
            }
            for run in content.runs {
                guard case .stored(let pack, let offset, _) = run else { continue }
                if packs[pack] == nil { packs[pack] = try await byteCount(of: pack, noting: &problems) }
                if let byteCount = packs[pack], byteCount < offset + run.byteCount {
                    let path = try replica.path(of: number)
                    problems.append(
                        "\(path): the container lacks bytes \(offset)..<\(offset + run.byteCount) of pack \(pack)")
                    break
                }
            }
        }
        return problems
    }

    /// The length of a pack; 0 when it is not there, or is another one now.
    private func byteCount(of pack: PackID, noting problems: inout [String]) async throws(FileError) -> Int64 {
        do throws(StoreError) {
            return try await store.byteCount(of: pack)
        } catch {
            switch error.code {
            case .notFound: return 0
            case .corrupt:
                problems.append(error.detail)
                return 0
            case .preconditionFailed, .throttled, .unavailable, .denied, .full, .invalid, .cancelled:
                throw error.fileError
            }
        }
    }
}
