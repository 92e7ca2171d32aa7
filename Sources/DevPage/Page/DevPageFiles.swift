import PageStyle

/// What the page is made of.
enum DevPageFiles {
    static let all: [PageFile] =
        [PageFile(path: "/", type: "text/html; charset=utf-8", text: PageHTML.text)]
        + Self.styles.map { PageFile(path: "/\($0.name).css", type: "text/css; charset=utf-8", text: $0.text) }
        + Self.scripts.map { PageFile(path: "/\($0.name).js", type: "text/javascript; charset=utf-8", text: $0.text) }

    private static let styles: [(name: String, text: String)] = [
        ("page", PageCSS.text), ("layout", LayoutCSS.text), ("timeline", TimelineCSS.text), ("phones", PhonesCSS.text),
        ("audiences", AudiencesCSS.text), ("budget", BudgetCSS.text),
    ]

    private static let scripts: [(name: String, text: String)] = [
        ("page", PageScript.text), ("elements", ElementsScript.text), ("address", AddressScript.text),
        ("layout", LayoutScript.text), ("keys", KeysScript.text), ("search", SearchScript.text),
        ("timeline", TimelineScript.text), ("entry", EntryScript.text), ("phones", PhonesScript.text),
        ("phonelist", PhoneListScript.text), ("card", CardScript.text), ("remedies", RemediesScript.text),
        ("budget", BudgetScript.text), ("publish", PublishScript.text), ("audiences", AudiencesScript.text),
        ("channels", ChannelsScript.text), ("faults", FaultsScript.text), ("templates", TemplatesScript.text),
        ("schemas", SchemasScript.text),
    ]
}
