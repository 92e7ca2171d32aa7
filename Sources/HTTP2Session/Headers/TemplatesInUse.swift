import CNGHTTP2

/// Keeps the templates alive that frames not yet serialised point into, and the scratch array of fields a submission is made from.
struct TemplatesInUse {
    /// Past this many, templates are let go as soon as no frame can refer to them.
    static let countMax = 16

    private var templates: [HTTP2HeaderTemplate] = []
    private var scratch: UnsafeMutablePointer<nghttp2_nv>?
    private var scratchCapacity = 0

    /// Holds `template`. `nothingUnsent`: every frame submitted so far has been serialised.
    @inline(__always)
    mutating func hold(_ template: HTTP2HeaderTemplate, nothingUnsent: Bool) {
        for held in self.templates where held === template { return }
        if self.templates.count >= Self.countMax, nothingUnsent { self.templates.removeAll(keepingCapacity: true) }
        self.templates.append(template)
    }

    /// A copy of the template's fields, with the values of `message` put in. Valid until the next call.
    mutating func fields(
        of template: HTTP2HeaderTemplate, message: borrowing OutgoingMessage, ends: [Int]
    ) -> UnsafeMutablePointer<nghttp2_nv> {
        let count = template.fields.count
        if count > self.scratchCapacity || self.scratch == nil {
            self.scratch?.deallocate()
            self.scratchCapacity = max(count, 16)
            self.scratch = .allocate(capacity: self.scratchCapacity)
        }
        let fields = self.scratch!
        fields.update(from: template.prepared, count: count)
        message.point(fields, template: template, ends: ends)
        return fields
    }

    mutating func free() {
        self.scratch?.deallocate()
        self.templates = []
    }
}
