import Foundation
import Model
package import Replica

extension StateDirectory {
    /// Whether a directory was being taken over when that was interrupted.
    ///
    /// - Throws: ``DaemonError`` with `usage` where it is another one, or was being given back.
    package func isTaking(_ directory: String) throws(DaemonError) -> Bool {
        do throws(FileError) {
            guard let taking = try TreeTaking(of: path) else { return false }
            if let refusal = taking.refusal { throw refusal }
            guard taking.directory.isBytewiseEqual(to: directory) else {
                throw FileError(.invalid, "the state \(path) is taking over \(taking.directory); finish that first")
            }
            return true
        } catch {
            throw DaemonError(error.code == .invalid ? .usage : .failed, error.detail)
        }
    }

    /// Makes what a state has a plain directory again, and removes the state. Blocks.
    ///
    /// - Throws: ``DaemonError``; what was given back by then stays, and the same call goes on.
    package func giveBack(to directory: String) throws(DaemonError) -> ReturnedTree {
        do throws(FileError) {
            return try TreeReturn(of: path, to: directory).run()
        } catch {
            switch error.code {
            case .busy: throw DaemonError(.busy, "a daemon uses the state \(path); unmount the container first")
            case .notFound: throw DaemonError(.notFound, error.detail)
            case .invalid, .notLocal: throw DaemonError(.usage, error.detail)
            case .notEmpty, .exists, .crossDevice, .diskFull: throw DaemonError(.cannotCreate, error.detail)
            case .notPermitted, .denied: throw DaemonError(.denied, error.detail)
            default: throw DaemonError(.failed, "\(directory) cannot be given back: \(error.detail)")
            }
        }
    }
}
