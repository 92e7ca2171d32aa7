import PageStyle

/// What the page is made of.
enum DevPageFiles {
    static let all: [PageFile] = [
        PageFile(path: "/", type: "text/html; charset=utf-8", text: PageHTML.text),
        PageFile(path: "/page.css", type: "text/css; charset=utf-8", text: PageCSS.text),
        PageFile(path: "/phones.css", type: "text/css; charset=utf-8", text: PhonesCSS.text),
        PageFile(path: "/audiences.css", type: "text/css; charset=utf-8", text: AudiencesCSS.text),
        PageFile(path: "/budget.css", type: "text/css; charset=utf-8", text: BudgetCSS.text),
        PageFile(path: "/budget.js", type: "text/javascript; charset=utf-8", text: BudgetScript.text),
        PageFile(path: "/audiences.js", type: "text/javascript; charset=utf-8", text: AudiencesScript.text),
        PageFile(path: "/channels.js", type: "text/javascript; charset=utf-8", text: ChannelsScript.text),
        PageFile(path: "/faults.js", type: "text/javascript; charset=utf-8", text: FaultsScript.text),
        PageFile(path: "/templates.js", type: "text/javascript; charset=utf-8", text: TemplatesScript.text),
        PageFile(path: "/schemas.js", type: "text/javascript; charset=utf-8", text: SchemasScript.text),
        PageFile(path: "/page.js", type: "text/javascript; charset=utf-8", text: PageScript.text),
        PageFile(path: "/phones.js", type: "text/javascript; charset=utf-8", text: PhonesScript.text),
        PageFile(path: "/timeline.js", type: "text/javascript; charset=utf-8", text: TimelineScript.text),
        PageFile(path: "/publish.js", type: "text/javascript; charset=utf-8", text: PublishScript.text),
        PageFile(path: "/elements.js", type: "text/javascript; charset=utf-8", text: ElementsScript.text),
    ]
}
