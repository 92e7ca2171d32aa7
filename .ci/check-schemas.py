#!/usr/bin/env python3
"""Checks the JSON Schemas in deploy/schemas: they are valid, they judge the cases in Tests/SchemaCases as the decoder does (which a Swift test asks), and
no rule in that of events could be dropped without a case that notices. The example configurations are as the schema of settings says. The examples on the page of outcomes, which a Swift test compares with what a worker
writes, are as their schema says.

Needs check-jsonschema (and so jsonschema and regress) and PyYAML from PyPI.
"""

import copy
import json
import pathlib
import re
import sys

import jsonschema
import regress
import yaml

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SCHEMAS = PROJECT / "deploy/schemas"
CASES = PROJECT / "Tests/SchemaCases"
EXAMPLES = PROJECT / "Sources/mailboat/Mailboat.docc/OutcomeExamples.md"
CONFIGURATIONS = ["mailboat.example.yaml", "compose/worker.yaml", "kubernetes/settings/mailboat.yaml"]
# They say something about a value for people, or hold what is referred to: nothing is refused for them.
SILENT = {"$schema", "$id", "$defs", "title", "description", "examples", "$comment"}
# What others beside them refuse, too. They stay for the message: of a value that is no object, and of an event that says no `event`, that alone.
SAID_TWICE = {"type", "$defs/start/properties/to/type", "$defs/to/type"} | {f"allOf/{kind}/if/required/0" for kind in range(6)}
failures = []


def fail(message):
    failures.append(message)
    print(f"check-schemas: {message}", file=sys.stderr)


def pattern(validator, pattern, instance, schema):
    """As JavaScript reads it, which JSON Schema asks for: in Python `$` also stands before a line end."""
    if isinstance(instance, str) and regress.Regex(pattern, "u").find(instance) is None:
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def pattern_properties(validator, patterns, instance, schema):
    """Names, by JavaScript's expressions, too."""
    for name, value in instance.items() if isinstance(instance, dict) else ():
        for text, part in patterns.items():
            if regress.Regex(text, "u").find(name) is not None:
                yield from validator.descend(value, part, path=name, schema_path=text)


Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})
# For editors, which know no newer one.
SettingsValidator = jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": pattern, "patternProperties": pattern_properties})


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def cases_of(path):
    """Each case with what its value says; `None` where it is no JSON, which no schema gets to see."""
    for case in load(path)["cases"]:
        text = case["text"] if "text" in case else json.dumps(case["value"], ensure_ascii=False)
        if "fill" in case:
            characters, count = case["fill"]
            text = text.replace("FILL", characters * count)
        try:
            yield case, [json.loads(text)]
        except ValueError:
            yield case, None


def check_cases(schema, path):
    validator = Validator(schema)
    count = 0
    for case, parsed in cases_of(path):
        count += 1
        name, refused = case["name"], case["refused"] is not None
        if "schema-takes-it" in case and not refused:
            fail(f"{name}: the decoder takes it, so that a schema has nothing to overlook")
        if parsed is None:
            if not refused:
                fail(f"{name}: is no JSON")
            continue
        takes = validator.is_valid(parsed[0])
        if takes and refused and "schema-takes-it" not in case:
            fail(f"{name}: the schema takes it, the decoder refuses {case['refused']}")
        if not takes and not refused:
            error = jsonschema.exceptions.best_match(validator.iter_errors(parsed[0]))
            fail(f"{name}: the decoder takes it, the schema says: {error.message[:300]}")
        if not takes and "schema-takes-it" in case:
            fail(f"{name}: the schema refuses it, too: it need not be excused")
    return count


def check_settings(schema):
    """Cases that the program judges, too, and the example configurations."""
    validator = SettingsValidator(schema)
    table = load(CASES / "settings.json")
    for case in table["cases"]:
        name, refused = case["name"], case["refused"] is not None
        settings = yaml.safe_load(case["text"] if case.get("alone") else f"{table['base']}\n{case['text']}")
        takes = validator.is_valid(settings)
        if takes and refused and "schema-takes-it" not in case:
            fail(f"settings, {name}: the schema takes it, the program refuses {case['refused']}")
        if not takes and not refused:
            fail(f"settings, {name}: the program takes it, the schema says: {jsonschema.exceptions.best_match(validator.iter_errors(settings)).message[:300]}")
        if "schema-takes-it" in case and not (takes and refused):
            fail(f"settings, {name}: it need not be excused")
    for file in CONFIGURATIONS:
        text = (PROJECT / "deploy" / file).read_text(encoding="utf-8")
        for error in validator.iter_errors(yaml.safe_load(text)):
            fail(f"{file}: {'.'.join(map(str, error.path))}: {error.message[:300]}")
    return len(table["cases"])


def rules(schema, path=()):
    """Where each rule of a schema stands: keywords, and of lists and tables each entry."""
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            here = path + (keyword,)
            if keyword in ("properties", "$defs", "patternProperties", "dependentRequired"):
                for name, part in value.items():
                    if part is False or keyword == "dependentRequired":
                        yield here + (name,)
                    yield from rules(part, here + (name,))
            elif keyword in ("allOf", "oneOf", "anyOf"):
                for index, part in enumerate(value):
                    if keyword == "allOf":
                        yield here + (index,)
                    yield from rules(part, here + (index,))
                if keyword != "allOf":
                    yield here
            elif keyword == "required":
                for index in range(len(value)):
                    yield here + (index,)
            elif keyword in ("if", "then", "else", "not", "items"):
                if keyword != "if":
                    yield here
                yield from rules(value, here)
            elif keyword not in SILENT:
                yield here


def without(schema, path):
    changed = copy.deepcopy(schema)
    part = changed
    for step in path[:-1]:
        part = part[step]
    if isinstance(part, list) or path[-2:-1] != ("properties",):
        del part[path[-1]]
    else:
        part[path[-1]] = True
    return changed


def check_coverage(schema, path):
    """Drops each rule in turn: what is refused is then taken, in one case at least."""
    judged = [(case, parsed[0]) for case, parsed in cases_of(path) if parsed is not None]
    whole = Validator(schema)
    expected = [whole.is_valid(value) for _, value in judged]
    count = 0
    for rule in rules(schema):
        name = "/".join(map(str, rule))
        if name in SAID_TWICE:
            continue
        count += 1
        validator = Validator(without(schema, rule))
        if all(validator.is_valid(value) == valid for (_, value), valid in zip(judged, expected)):
            fail(f"{path.name}: no case notices when {name} is dropped")
    return count


def check_examples(outcomes, headers):
    """What the page shows of outcomes and of the headers of dead letters."""
    examples = re.findall(r"<!-- example: ([a-z-]+) -->\n```(json|text)\n(.*?)\n```", EXAMPLES.read_text(encoding="utf-8"), re.DOTALL)
    for name, kind, text in examples:
        if kind == "json":
            schema, value = outcomes, json.loads(text)
        else:
            lines = (line.split(": ", 1) for line in text.splitlines())
            schema, value = headers, {field: said for field, said in lines if field.startswith("mailboat-")}
        for error in Validator(schema).iter_errors(value):
            fail(f"{EXAMPLES.name}: {name}: {error.message[:300]}")
    return len(examples)


def main():
    schemas = {path.name: load(path) for path in sorted(SCHEMAS.glob("*.schema.json"))}
    for name, schema in schemas.items():
        jsonschema.validators.validator_for(schema).check_schema(schema)
        if schema["$id"] != f"urn:mailboat:schema:{name.removesuffix('.schema.json')}":
            fail(f"{name}: its $id is {schema['$id']}")
    events = check_cases(schemas["event.schema.json"], CASES / "events.json")
    settings = check_settings(schemas["settings.schema.json"])
    rule_count = check_coverage(schemas["event.schema.json"], CASES / "events.json")
    examples = check_examples(schemas["outcome.schema.json"], schemas["dead-letter-headers.schema.json"])
    if failures:
        sys.exit(f"check-schemas: {len(failures)} faults")
    print(f"check-schemas: {len(schemas)} schemas; {events} cases of events, {rule_count} rules each noticed by one; {settings} cases of settings, {len(CONFIGURATIONS)} configurations; {examples} examples")


if __name__ == "__main__":
    main()
