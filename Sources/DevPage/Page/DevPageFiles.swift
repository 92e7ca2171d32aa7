import PageStyle

/// The page's files: the files beside this source, which are built into the program, and the files of `PageStyle`.
enum DevPageFiles {
    static let all: [PageFile] =
        [PageFile(path: "/", type: .html, bytes: PackageResources.page_html)]
        + Self.styles.map { PageFile(path: "/\($0.name).css", type: .css, bytes: $0.bytes) }
        + Self.scripts.map { PageFile(path: "/\($0.name).js", type: .script, bytes: $0.bytes) }
        + [.style(at: "/style.css"), .elements(at: "/elements.js")]

    private static let styles: [(name: String, bytes: [UInt8])] = [
        ("layout", PackageResources.layout_css), ("timeline", PackageResources.timeline_css),
        ("phones", PackageResources.phones_css), ("audiences", PackageResources.audiences_css),
        ("budget", PackageResources.budget_css),
    ]

    private static let scripts: [(name: String, bytes: [UInt8])] = [
        ("page", PackageResources.page_js), ("address", PackageResources.address_js),
        ("layout", PackageResources.layout_js), ("keys", PackageResources.keys_js),
        ("roving", PackageResources.roving_js),
        ("search", PackageResources.search_js), ("timeline", PackageResources.timeline_js),
        ("entry", PackageResources.entry_js), ("phones", PackageResources.phones_js),
        ("phonelist", PackageResources.phonelist_js), ("card", PackageResources.card_js),
        ("remedies", PackageResources.remedies_js), ("budget", PackageResources.budget_js),
        ("publish", PackageResources.publish_js), ("audiences", PackageResources.audiences_js),
        ("channels", PackageResources.channels_js), ("faults", PackageResources.faults_js),
        ("choice", PackageResources.choice_js), ("tokens", PackageResources.tokens_js),
        ("templates", PackageResources.templates_js),
        ("schemas", PackageResources.schemas_js), ("hints", PackageResources.hints_js),
    ]
}
