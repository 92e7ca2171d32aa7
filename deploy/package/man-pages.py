#!/usr/bin/env python3
"""Writes the manual pages of mailboat, one for each command, out of what the program says of itself (`--experimental-dump-help`, from which its `--help` is made, too).

help2man reads one level of commands only, and breaks the lines of examples.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess


def escaped(text):
    """As roff prints it: hyphens that can be copied, straight quotes, no command at the beginning of a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def option(argument):
    """How an argument is written, with its value."""
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        return value
    names = ["\\fB" + escaped(("-" if name["kind"] == "short" else "--") + name["name"]) + "\\fR" for name in argument["names"]]
    return ", ".join(names) + (f" {value}" if argument["kind"] == "option" else "")


def usage(argument):
    shown = option({**argument, "names": [argument["preferredName"]]} if argument["kind"] != "positional" else argument)
    shown = f"[{shown}]" if argument["isOptional"] else shown
    return shown + ("..." if argument["isRepeating"] else "")


def paragraphs(text):
    """A discussion in roff: lines that begin with blanks are examples, or what stands above one; a line in capitals is a heading."""
    lines = []
    for line in text.split("\n"):
        if re.fullmatch(r"[A-Z][A-Z ]+", line):
            lines.append(f".SH {line}")
        elif line.startswith(("    ", "  mailboat ")):
            lines += [".PP", ".RS 4", ".nf", escaped(line[4:] if line.startswith("    ") else line[2:]), ".fi", ".RE"]
        elif line.strip():
            lines += [".PP", escaped(line.strip())]
    # One block of neighbours.
    return "\n".join(lines).replace("\n.fi\n.RE\n.PP\n.RS 4\n.nf\n", "\n")


def sections(command):
    """The description, and what is said of the exit status as a section of its own."""
    text = command.get("discussion", "")
    found = re.search(r"(?:^|\n)(Exit status[^\n]*)", text)
    if not found:
        return text, ""
    return (text[:found.start()] + text[found.end():]).strip("\n"), re.sub(r"^Exit status(?: of every command)?: ", "", found[1])


def merged(arguments):
    """A flag and the one that takes it back as one, as `--help` has them: they share a text."""
    shown = []
    for argument in arguments:
        names = [name["name"] for name in argument.get("names") or []]
        before = [name["name"] for name in shown[-1].get("names") or []] if shown else []
        if argument["kind"] == "flag" and names and names[0].removeprefix("no-") in before and names[0].startswith("no-"):
            shown[-1] = {**shown[-1], "names": shown[-1]["names"] + argument["names"]}
        else:
            shown.append(argument)
    return shown


# What a package brings, beside the program.
FILES = [
    ("/etc/mailboat/mailboat.yaml", "the settings of the worker that the unit mailboat.service starts"),
    ("/etc/mailboat/keys", "Apple's keys for it, readable for the group mailboat"),
    ("/etc/mailboat/environment", "settings for it that are secrets, one variable a line; made by hand"),
    ("/usr/share/doc/mailboat", "README.md and the pages that texts name, such as deploy/Operations.md"),
    ("/usr/share/mailboat", "JSON Schemas, alert rules, a dashboard"),
]


def files(words):
    """Those that concern a command: all of them the program itself, and the worker."""
    chosen = FILES if words in (["mailboat"], ["mailboat", "run"]) else FILES[3:4]
    return [".SH FILES", *(line for path, text in chosen for line in (".TP", f"\\fI{escaped(path)}\\fR", escaped(text[0].upper() + text[1:] + ".")))]


def related(command, words, known):
    """Other pages to read: those above, those below, and the commands that the text names."""
    names = ["-".join(words[:count]) for count in range(1, len(words))]
    names += ["-".join([*words, one["commandName"]]) for one in command.get("subcommands", []) if one["commandName"] != "help" and one["shouldDisplay"]]
    text = command.get("discussion", "") + " " + " ".join(argument.get("abstract", "") for argument in command.get("arguments", []))
    for found in re.finditer(r"mailboat ([a-z-]+)(?: ([a-z-]+))?", text):
        names += [name for name in (f"mailboat-{found[1]}-{found[2]}", f"mailboat-{found[1]}") if name in known][:1]
    own = "-".join(words)
    return [name for name in dict.fromkeys(names) if name != own]


def page_names(command, words):
    yield "-".join(words)
    for one in command.get("subcommands", []):
        if one["commandName"] != "help" and one["shouldDisplay"]:
            yield from page_names(one, [*words, one["commandName"]])


def page(command, words, version, date, known):
    name = "-".join(words)
    shown = [argument for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    below = [one for one in command.get("subcommands", []) if one["commandName"] != "help" and one["shouldDisplay"]]
    description, status = sections(command)
    # Headings of the discussion, such as EXAMPLES, come behind the options.
    text, *rest = re.split(r"\n(?=[A-Z][A-Z ]+\n)", description, maxsplit=1)
    lines = [
        f'.TH "{escaped(name.upper())}" 1 "{date}" "mailboat {version}" "Mailboat"', ".nh", ".ad l", ".SH NAME",
        f"{escaped(name)} \\- {escaped(command['abstract'].rstrip('.'))}", ".SH SYNOPSIS", f"\\fB{escaped(' '.join(words))}\\fR",
        *(usage(argument) for argument in shown), *(["\\fIcommand\\fR"] if below else []), ".SH DESCRIPTION",
        paragraphs(text) or escaped(command["abstract"]),
    ]
    if below:
        lines.append(".SH COMMANDS")
        for one in below:
            lines += [".TP", f"\\fB{escaped(one['commandName'])}\\fR", f"{escaped(one['abstract'])} See \\fB{escaped(name + '-' + one['commandName'])}\\fR(1)."]
    if shown:
        lines.append(".SH OPTIONS")
        for argument in merged(shown):
            facts = [f"one of {', '.join(argument['allValues'])}"] if argument.get("allValues") else []
            facts += [f"default: {argument['defaultValue']}"] if argument.get("defaultValue") else []
            text = argument.get("abstract", "") + (f" ({'; '.join(facts)})" if facts else "")
            lines += [".TP", option(argument), escaped(text.strip()) or "\\&"]
    lines += [paragraphs(part) for part in rest]
    if status:
        lines += [".SH EXIT STATUS", escaped(status[0].upper() + status[1:])]
    lines += files(words)
    if names := related(command, words, known):
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{escaped(name)}\\fR(1)" for name in names)]
    yield f"{name}.1", "\n".join(lines) + "\n"
    for one in below:
        yield from page(one, [*words, one["commandName"]], version, date, known)


def main():
    parser = argparse.ArgumentParser(description="Write the manual pages of mailboat.")
    parser.add_argument("--program", required=True, type=pathlib.Path, metavar="FILE")
    parser.add_argument("--date", required=True, metavar="@SECONDS", help="what the pages are dated by")
    parser.add_argument("--output", required=True, type=pathlib.Path, metavar="DIRECTORY")
    asked = parser.parse_args()

    def said(*words):
        return subprocess.run([asked.program.resolve(), *words], check=True, capture_output=True, text=True).stdout

    date = datetime.datetime.fromtimestamp(int(asked.date.lstrip("@")), datetime.timezone.utc).strftime("%Y-%m-%d")
    command = json.loads(said("--experimental-dump-help"))["command"]
    asked.output.mkdir(parents=True, exist_ok=True)
    words = [command["commandName"]]
    for name, text in page(command, words, said("--version").strip(), date, set(page_names(command, words))):
        (asked.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
