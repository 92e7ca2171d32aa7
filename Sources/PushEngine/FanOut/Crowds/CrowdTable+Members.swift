extension CrowdTable {
    /// The members of one partition, in a box: an array cannot hold noncopyable values.
    ///
    /// Values that every push reads are behind pointers. For a class's stored variable, the runtime would check
    /// exclusive access each time, ten times a push.
    @safe final class Members {
        private let tableAddress: UnsafeMutablePointer<MemberTable>
        private let ringOwnersAddress: UnsafeMutablePointer<[CrowdID]>
        /// Members that left while `state` was read. They are freed when all of it has been read.
        var unlinked: [MemberID] = []

        init(seed: UInt64) {
            unsafe self.tableAddress = .allocate(capacity: 1)
            unsafe self.ringOwnersAddress = .allocate(capacity: 1)
            unsafe self.tableAddress.initialize(to: MemberTable(seed: seed))
            unsafe self.ringOwnersAddress.initialize(to: [])
        }
        deinit {
            unsafe self.tableAddress.deinitialize(count: 1)
            unsafe self.ringOwnersAddress.deinitialize(count: 1)
            unsafe self.tableAddress.deallocate()
            unsafe self.ringOwnersAddress.deallocate()
        }

        // The pointees exist as long as the box does.
        var table: MemberTable {
            @inline(__always) unsafeAddress { unsafe UnsafePointer(self.tableAddress) }
            @inline(__always) unsafeMutableAddress { unsafe self.tableAddress }
        }
        /// The crowd of each ring.
        var ringOwners: [CrowdID] {
            @inline(__always) unsafeAddress { unsafe UnsafePointer(self.ringOwnersAddress) }
            @inline(__always) unsafeMutableAddress { unsafe self.ringOwnersAddress }
        }
    }
}
