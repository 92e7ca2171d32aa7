/// How to write a template's header block while the dynamic table does not change: constant bytes and values alternate.
struct HeaderPlan: StreamEntry {
    static var unused: HeaderPlan { HeaderPlan() }

    struct Step {
        /// Start of the step's constant bytes in `constants`.
        var start: Int
        var count: Int
        /// Index of the template's field whose value is looked up in the table; -1 if the value is written as a
        /// literal.
        var indexedField: Int
        /// Whether a value follows the constant bytes. If not, they end the block.
        var hasValue: Bool
    }

    var template: HTTP2HeaderTemplate?
    /// The table's generation for which the plan was made; 0 if there is no plan yet.
    var generation: UInt64 = 0
    /// Number of messages with this template that were announced and are not written yet.
    var unsentCount = 0
    private(set) var constants = GrowingBytes()
    private(set) var steps: UnsafeMutablePointer<Step>?
    private(set) var stepCount = 0
    private var stepCapacity = 0
    private var stepStart = 0

    var isInUse: Bool { self.template != nil }

    mutating func begin(_ template: HTTP2HeaderTemplate) {
        self.template = template
        self.unsentCount = 0
        self.discard()
        let capacity = template.variableCount + 1
        guard capacity > self.stepCapacity else { return }
        self.steps?.deallocate()
        self.steps = .allocate(capacity: capacity)
        self.stepCapacity = capacity
    }

    /// Removes the steps, which must be made again.
    mutating func discard() {
        self.generation = 0
        self.constants.removeAll()
        self.stepCount = 0
        self.stepStart = 0
    }

    mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { self.constants.append($0) } }

    /// Ends a step. The step has the constant bytes since the previous step, then a value or nothing.
    mutating func endStep(hasValue: Bool, indexedField: Int = -1) {
        let step = Step(
            start: self.stepStart, count: self.constants.count - self.stepStart, indexedField: indexedField,
            hasValue: hasValue)
        (self.steps! + self.stepCount).initialize(to: step)
        self.stepCount += 1
        self.stepStart = self.constants.count
    }

    mutating func free() {
        self.constants.free()
        self.steps?.deallocate()
        self.steps = nil
        self.stepCapacity = 0
        self.template = nil
    }
}
