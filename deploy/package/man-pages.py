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


def page(command, words, version, date):
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
        for argument in shown:
            facts = [f"one of {', '.join(argument['allValues'])}"] if argument.get("allValues") else []
            facts += [f"default: {argument['defaultValue']}"] if argument.get("defaultValue") else []
            text = argument.get("abstract", "") + (f" ({'; '.join(facts)})" if facts else "")
            lines += [".TP", option(argument), escaped(text.strip()) or "\\&"]
    lines += [paragraphs(part) for part in rest]
    if status:
        lines += [".SH EXIT STATUS", escaped(status[0].upper() + status[1:])]
    if len(words) > 1:
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{escaped('-'.join(words[:count]))}\\fR(1)" for count in range(1, len(words)))]
    yield f"{name}.1", "\n".join(lines) + "\n"
    for one in below:
        yield from page(one, [*words, one["commandName"]], version, date)


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
    for name, text in page(command, [command["commandName"]], said("--version").strip(), date):
        (asked.output / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
