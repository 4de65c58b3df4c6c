package import ControlAPI
import FileSystem
import Replica

extension UpgradeRequest {
    /// For the program that calls this.
    package init() {
        self.init(program: DaemonLauncher.program(), handles: Int(HandleSlots.version), index: Replica.indexVersion)
    }
}
