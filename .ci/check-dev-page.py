#!/usr/bin/env python3
"""Opens the page of `mailboat dev` in a headless Chromium and uses it: publishes, searches, reads, by keyboard where it matters.

It fails on an error on the console, on a text whose contrast is below WCAG AA, on a control without a name or a visible focus, on a page that is wider than a phone, and
where what became of the last event has to be scrolled to. `--screenshots DIR` keeps pictures: each view in windows of four sizes, light and dark. Needs `chromium` (Debian) and nothing else that is not in Python.
"""

import argparse
import glob
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dev_page_reading
import dev_page_steps
import dev_page_writing
import foreign_pages
import page_audit
from chromium import LIMIT_SECONDS, Browser
from dev_page_steps import choose_phone, open_tab, use_key


def read_scripts():
    """What Node finds wrong with the scripts as they are written; nothing, where there is no Node."""
    if not shutil.which("node"):
        return []
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Sources")
    scripts = sorted(glob.glob(os.path.join(sources, "**", "*.js"), recursive=True))
    checks = ((script, subprocess.run(["node", "--check", "--input-type=module", "-"], stdin=open(script), stderr=subprocess.PIPE, text=True, check=False)) for script in scripts)
    return [f"{os.path.relpath(script, sources)}: {done.stderr}" for script, done in checks if done.returncode]


def start_dev(mailboat, directory):
    """The process, the page's address, that of Kafka, and the commands it prints, by name."""
    process = subprocess.Popen(
        [mailboat, "dev", "--port", "0", "--kafka-port", "0"], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    printed = ""
    for line in process.stdout:
        printed += line
        # The last of the commands.
        if "/wait-for" in line:
            break
    address = re.search(r"page +(http://\S+)", printed)
    if not address:
        sys.exit(f"check-dev-page: mailboat dev printed no address: {printed}")
    if not re.search(r"apns +https://127\.0\.0\.1:\d+, where the worker pushes to", printed):
        sys.exit(f"check-dev-page: mailboat dev does not say where its APNs listens: {printed}")
    kafka = re.search(r"kafka +([^,\s]+)", printed).group(1)
    snippets = dict(re.findall(r"^# (.+?)\n(.*?)(?=^# |\Z)", printed, re.MULTILINE | re.DOTALL))
    return process, address.group(1), kafka, snippets


def shell(script):
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        sys.exit(f"check-dev-page: {script}: {done.stdout}")
    return done.stdout


def use(browser, address, snippets, mailboat):
    """What a developer does in the first minutes. Stops at the first thing that does not work."""
    shell(snippets["curl"])
    if "Anne" not in shell(snippets["Wait in a test"]):
        sys.exit("check-dev-page: the phone does not show what curl published")
    browser.open(address)
    browser.until("document.querySelector('.lock-card')?.innerText.includes('Anne')", "the card")
    if subprocess.run(["bash", "-c", "command -v kcat"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        shell(snippets["kcat"].replace('"Anne"', '"Kim"'))
        browser.until("document.querySelector('.lock-card')?.innerText.includes('Kim')", "the card that kcat published")
    shell(snippets["mailboat"].replace('"Anne"', '"Ada"').replace("mailboat publish", f"'{mailboat}' publish"))
    browser.until("document.querySelector('.lock-card')?.innerText.includes('Ada')", "the card that mailboat publish published")
    listed = {one["name"]: one["text"] for one in browser.run("fetch('/api/about').then((answer) => answer.json()).then((about) => about.snippets)")}
    shell(listed["Python, over HTTP"].replace('"Anne"', '"Pia"'))
    browser.until("document.querySelector('.lock-card')?.innerText.includes('Pia')", "the card that Python published over HTTP")
    if importlib.util.find_spec("confluent_kafka"):
        shell(listed["Python, over Kafka"].replace('"Anne"', '"Tom"').replace("python3", sys.executable))
        browser.until("document.querySelector('.lock-card')?.innerText.includes('Tom')", "the card that Python published over Kafka")

    # By keyboard alone: the event with a date, then one with a misspelt field.
    browser.run("document.getElementById('publish-sample').value = '3'; document.getElementById('publish-sample').onchange(); document.getElementById('publish-event').focus()")
    browser.press("Enter", 13, "\r", modifiers=2)
    # As Swift counts from 2001.
    browser.until(f"document.querySelector('.phone-says .note.warn table')?.innerText.includes('{time.gmtime(time.time() + 25 * 60 + 978_307_200).tm_year}')", "the year that Swift reads")
    browser.run("document.getElementById('publish-event').value = '{\"event\": \"update\", \"contentState\": {}}'")
    browser.press("Enter", 13, "\r", modifiers=2)
    browser.until("document.getElementById('publish-answer').innerText.includes('Did you mean “content-state”')", "the name of the misspelt field")

    # A match of its own, and an alert.
    browser.run("document.getElementById('new-activity-id').value = 'match-1'; document.getElementById('new-activity').requestSubmit()")
    browser.until("document.getElementById('publish-use-key').innerText === 'Use match-1 as key' && document.getElementById('publish-activity').value === 'order-1'", "the new phone, and the key beside what was written")
    browser.run("document.getElementById('publish-use-key').click()")
    browser.until("document.getElementById('publish-activity').value === 'match-1'", "the key of the new phone")
    browser.run("document.getElementById('publish-sample').value = '1'; document.getElementById('publish-sample').onchange(); document.getElementById('publish').requestSubmit()")
    browser.until("document.querySelector('.lock-card .score')?.innerText.includes('1 : 0')", "the score")

    # A phone that is away, and a token that is lost.
    button = "[...document.querySelectorAll('#phone button')].find((one) => one.innerText === %s && !one.hidden)"
    browser.run((button % "'Take it offline'") + ".click()")
    browser.until("document.querySelector('.device.away')", "the phone to be away")
    browser.run("document.getElementById('publish-event').value = JSON.stringify({event: 'update', priority: 10, 'content-state': {homeTeam: 'Lions', awayTeam: 'Bears', homeScore: 2, awayScore: 0, minute: 31}, "
                "alert: {title: 'Goal', body: 'Lions lead by two.'}}); document.getElementById('publish').requestSubmit()")
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'waiting'", "the push to wait for the phone")
    browser.run((button % "'Bring it back'") + ".click()")
    browser.until("document.querySelector('.lock-card .score')?.innerText.includes('2 : 0')", "what waited for the phone")
    browser.run((button % "'Change the token'") + ".click()")
    browser.until(button % "'Register the new token'", "the untold token")
    browser.run("document.getElementById('publish').requestSubmit()")
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'refused'", "APNs to refuse the old token")
    browser.run((button % "'Register the new token'") + ".click()")
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'shown'", "the new token to work")

    # The search, and what is behind an entry.
    browser.run("const field = document.getElementById('search-text'); field.value = 'status:410'; field.dispatchEvent(new Event('input'))")
    browser.until("document.getElementById('entry-count').innerText === `${document.querySelectorAll('#entries > li').length} found` && document.querySelectorAll('#entries > li').length > 0", "what APNs answered with 410")
    browser.run("document.querySelector('#entries summary').click()")
    browser.until("document.querySelector('#entries details[open] .body')?.innerText.includes('410')", "the answer of APNs")
    browser.run("document.getElementById('search-text').value = 'is:nothing'; document.getElementById('search-text').dispatchEvent(new Event('input'))")
    browser.until("document.getElementById('search-answer').innerText.includes('expected event')", "what is: takes")
    # A push stands behind its event.
    browser.run("document.getElementById('search-text').value = 'match-1'; document.getElementById('search-text').dispatchEvent(new Event('input'))")
    browser.until("document.querySelectorAll('#entries > li').length > 5 && document.getElementById('entry-count').innerText === `${document.querySelectorAll('#entries > li').length} found`", "as many rows as were found")
    browser.run("document.getElementById('search-text').value = ''; document.getElementById('search-text').dispatchEvent(new Event('input'))")
    browser.until("!location.hash.includes('search')", "the search to end")
    browser.run("[...document.querySelectorAll('#entries summary')].find((one) => one.innerText.includes('update') && one.innerText.includes('match-1')).click()")
    browser.until("[...document.querySelectorAll('#entries details[open] button')].some((one) => one.innerText === 'Copy as Swift')", "what can be copied")
    use_copies(browser)
    browser.run("document.getElementById('snippets').open = true")

    # It restarts, which takes some seconds: it is looked at again later.
    browser.run((button % "'Restart it'") + ".click()")
    browser.until("document.querySelector('.device.away .away-note')?.innerText.includes('starting up')", "the phone to start up")
    browser.run("document.getElementById('publish-event').value = JSON.stringify({event: 'update', priority: 10, 'content-state': {homeTeam: 'Lions', awayTeam: 'Bears', homeScore: 2, awayScore: 1, minute: 70}}); "
                "document.getElementById('publish').requestSubmit()")
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'waiting'", "the push to wait for the phone that starts up")


def use_copies(browser):
    """What an entry can be copied as, for a test of one's own."""
    browser.until("['Copy as Swift test', 'Copy as test fixture'].every((name) => [...document.querySelectorAll('#entries details[open] button')].some((one) => one.innerText === name))", "what a test can be made of")
    copies = browser.run("fetch(`/api/entries/${document.querySelector('#entries details[open]').parentElement.id.replace('entry-', '')}/copies`).then((answer) => answer.json())")
    fixture = json.loads(copies["fixture"])
    push = fixture["pushes"][-1]
    if fixture["event"]["key"] != "match-1" or push["headers"]["apns-push-type"] != "liveactivity" or "homeScore" not in push["payload"]["aps"]["content-state"] or not push["verdict"]["word"]:
        sys.exit(f"check-dev-page: the fixture is {fixture}")
    if re.search("[0-9a-fA-F]{33}", json.dumps(copies)):
        sys.exit(f"check-dev-page: a copy has a whole device token: {copies}")
    if "#expect(state.homeTeam == \"Lions\")" not in copies["test"]:
        sys.exit(f"check-dev-page: the Swift test is {copies['test']}")


def use_budget(browser):
    """The phone is up again; the meter of its activity shows what its events have spent, in cells and in words."""
    choose_phone(browser, "match-1")
    browser.until("document.querySelector('.lock-card .score')?.innerText.includes('2 : 1')", "what waited for the phone that was starting up")
    meter = "document.querySelector('#budget [role=meter]')"
    browser.until(f"document.querySelector('#budget h3')?.innerText === 'Budget of match-1' && Number({meter}.ariaValueNow) >= 4", "the budget of the activity")
    browser.until(f"{meter}.querySelectorAll('.spent').length === Number({meter}.ariaValueNow) && {meter}.querySelectorAll('.kept').length === 2 && {meter}.children.length === 15", "the cells of the budget")
    browser.until(f"{meter}.ariaValueText.includes('of 15 pushes at priority 10') && document.querySelectorAll('#budget .hour i').length >= 4", "the budget in words")


def use_schemas(browser, address):
    """A schema that is none, a sample that a push does not fit, and none again."""
    open_tab(browser, "App")
    browser.until("document.getElementById('schema-text').value.includes('homeScore')", "the card as a sample")
    browser.run("document.getElementById('schema-text').value = '{\"type\": \"object\", \"properties\": {\"minute\": {\"minimum\": 0}}}'; document.getElementById('schema-form').requestSubmit()")
    browser.until("document.getElementById('schema-answer').innerText.includes('“minute” has “minimum”: expected type')", "what is wrong with the schema")
    browser.run("document.getElementById('schema-text').value = '{\"homeScore\": 1, \"stadium\": \"Park\"}'; document.getElementById('schema-form').requestSubmit()")
    browser.until("document.getElementById('schema-answer').innerText.includes('decode by it from now on')", "the sample to be taken")
    publish = ("document.getElementById('publish-event').value = JSON.stringify({event: 'update', priority: 10, 'content-state': {homeTeam: 'Lions', awayTeam: 'Bears', homeScore: %d, awayScore: 1, minute: 75}}); "
               "document.getElementById('publish').requestSubmit()")
    browser.run(publish % 3)
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'undecodable' && document.querySelector('.phone-says').innerText.includes('“stadium” is missing')", "what the app misses")
    browser.run("document.getElementById('schema-none').click()")
    browser.until("document.getElementById('schema-answer').innerText.includes('take whatever comes') && document.getElementById('schema-none').hidden", "the sample to be taken away")
    browser.run(publish % 2)
    browser.until("document.querySelector('.phone-says .badge')?.innerText === 'shown'", "the push that fits again")
    follow_a_type(browser, address)
    if "has “minimum”" not in shell(f"curl -sS -X PUT {address}/api/schemas -d '{{\"type\": \"object\", \"properties\": {{}}, \"minimum\": 1}}'"):
        sys.exit("check-dev-page: nobody says what is wrong with a schema that curl brings")


def follow_a_type(browser, address):
    """The drafts and the form follow a type that curl gives, changes and removes."""
    options = "[...document.getElementById('publish-sample').options].map((one) => one.text)"
    text = "document.getElementById('publish-event').value"
    dev_page_steps.write_sample(browser, "Delivery")
    give = "curl -fsS -X PUT %s/api/schemas -d 'struct Pizza: ActivityAttributes { struct ContentState { var %s: Int }\nvar order: String }'"
    shell(give % (address, "minutes"))
    browser.until(f"{options}.includes('From your Swift type: start by push')", "the drafts of the type that curl gave")
    browser.until("document.getElementById('schema-answer').innerText.startsWith('In force: the Swift type Pizza.ContentState')", "the type that curl gave")
    dev_page_steps.write_sample(browser, "From your Swift type: end")
    browser.until(f"JSON.parse({text}).event === 'end' && {text}.includes('minutes')", "an end that the app decodes")
    shell(give % (address, "seconds"))
    browser.until(f"{text}.includes('seconds') && !{text}.includes('minutes')", "the draft to follow the type")
    shell(f"curl -fsS -X DELETE {address}/api/schemas")
    browser.until(f"!{options}.some((one) => one.startsWith('From your')) && {text}.includes('Anne')", "the drafts of the type to go")
    if "two ActivityAttributes, A and B: give one" not in shell(f"curl -sS -X PUT {address}/api/schemas -d 'struct A: ActivityAttributes {{}} struct B: ActivityAttributes {{}}'"):
        sys.exit("check-dev-page: two attributes are taken for one type")


def use_flood(browser, mailboat, kafka):
    """More at once than is listed: the page says that it shows a sample."""
    dev_page_steps.begin_to_watch(browser)
    lines = "".join(f'{{"key": "flood-{number}", "value": {{"event": "update", "to": {{"token": "{number:064x}"}}, "content-state": {{"n": 1}}}}}}\n' for number in range(1_200))
    done = subprocess.run([mailboat, "publish", "--bootstrap", kafka, "-"], input=lines, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        sys.exit(f"check-dev-page: the flood was not published: {done.stdout}")
    browser.until("document.getElementById('unlisted').innerText.includes('This is a sample: ')", "the page to say that it shows a sample")
    browser.until("!document.getElementById('unlisted').innerText.includes('This is a sample') && document.getElementById('unlisted').innerText.includes('too fast to be listed')", "the flood to be over")
    dev_page_steps.end_to_watch(browser)


def use_audiences(browser, address):
    """A few hundred members join by a click, a few more by curl; some go away, and an event reaches the others."""
    open_tab(browser, "Audiences")
    browser.run("document.getElementById('new-members-count').value = '300'; document.getElementById('new-members').requestSubmit()")
    browser.until("document.getElementById('new-members-answer').innerText.includes('300 phones joined match-7')", "the members to join")
    shell(f"curl -fsS {address}/api/members -d '{{\"audience\": \"match-7\", \"count\": 20}}'")
    browser.until("document.querySelector('.audience canvas')?.ariaLabel.startsWith('320 members of match-7. 320: nothing shown yet')", "the members who joined by curl")
    button = "[...document.querySelectorAll('.audience button')].find((one) => one.innerText === %s)"
    browser.run((button % "'Take a tenth of them offline'") + ".click()")
    browser.until("document.querySelector('.audience canvas').ariaLabel.includes('32 of them are away')", "some members to be away")
    browser.run((button % "'Write an event for it'") + ".click(); document.getElementById('publish').requestSubmit()")
    open_tab(browser, "Audiences")
    browser.until("[...document.querySelectorAll('.audience td')].some((one) => one.innerText === '288')", "what the members show")
    answer = shell(f"curl -sS '{address}/wait-for?audience=match-7&key=homeScore&value=0&members=288&timeout=10'")
    if '"members":288' not in answer:
        sys.exit(f"check-dev-page: waited in vain for the members: {answer}")
    answer = shell(f"curl -sS '{address}/wait-for?audience=match-7&key=homeScore&value=0&timeout=0'")
    if "32 are away" not in answer:
        sys.exit(f"check-dev-page: nobody says that members are away: {answer}")
    meter = "document.querySelector('#audience-budget [role=meter]')"
    browser.until(f"document.querySelector('#audience-budget h4')?.innerText === 'Budget of match-7' && {meter}.ariaValueText.startsWith('1 of 15 versions at priority 10') && {meter}.querySelectorAll('.spent').length === 1", "the budget of the audience")
    # What the picture shows: the colour of each pixel is that of the age, or the field's own where a phone is away.
    drawn = browser.run(
        "(() => { const canvas = document.querySelector('.audience canvas'); const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; "
        "const colors = new Set(); for (let at = 0; at < data.length; at += 4) colors.add(`${data[at]},${data[at + 1]},${data[at + 2]}`); return [...colors]; })()")
    if "11,12,16" not in drawn or len(drawn) < 3:
        sys.exit(f"check-dev-page: the field shows {drawn}")
    browser.run((button % "'Bring them all online'") + ".click()")
    browser.until("[...document.querySelectorAll('.audience td')].some((one) => one.innerText === '320')", "what reached the members when they came back")
    browser.until("document.querySelector('.audience table + table, .audience .wide:nth-of-type(2) table, .audience')?.innerText.includes('Rounds of pushes')", "the rounds")


def use_channels(browser):
    """A channel, a phone that listens, and a broadcast that it shows."""
    open_tab(browser, "Channels")
    browser.run("document.getElementById('new-channel').requestSubmit()")
    browser.until("document.getElementById('new-channel-answer').innerText.includes('a phone listens')", "the channel")
    button = "[...document.querySelectorAll('#channel-list button, #phone button')].find((one) => one.innerText === %s && !one.hidden)"
    browser.until(button % "'Write an event for it'", "the channel in the list")
    browser.run((button % "'Write an event for it'") + ".click(); document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('channel-list').innerText.includes('1 broadcast,')", "the broadcast")
    browser.until("document.querySelector('#entries')?.innerText.includes('APNs sent it to the phone that listens')", "what became of the broadcast")
    choose_phone(browser)
    browser.until("document.querySelector('.lock-card .score')?.innerText.includes('1 : 0')", "the card that the broadcast brought")
    browser.run((button % "'Stop listening'") + ".click()")
    browser.until(button % "'Listen to the newest channel'", "the phone to listen no more")
    browser.until("document.getElementById('channel-list').innerText.includes('0 phones listen')", "nobody to listen")


def use_long_names(browser, address):
    """Keys are broken where their words meet."""
    names = ["estimatedDeliveryTimeInMinutes", "delivery_instructions_for_driver", "customer.preferredLanguage"]
    content = json.dumps({"event": "update", "priority": 10, "content-state": {name: "leave it with the neighbours" for name in names}})
    shell(f"curl -fsS '{address}/events?activity=long-names' -d '{content}' && curl -fsS '{address}/wait-for?activity=long-names&key={names[0]}'")
    choose_phone(browser, "long-names")
    browser.until(f"[...document.querySelectorAll('.lock-card dt')].some((one) => one.textContent === '{names[0]}')", "the card of long names")
    broken = browser.run(
        "[...document.querySelectorAll('.face dt')].flatMap((one) => [...one.childNodes]).filter((node) => node.nodeType === Node.TEXT_NODE && (() => { const range = document.createRange(); "
        "range.selectNodeContents(node); return range.getClientRects().length > 1; })()).map((node) => node.data)")
    narrow = browser.run("[...document.querySelectorAll('.lock-card dd')].map((one) => one.clientWidth).filter((width) => width < 100)")
    if broken or narrow:
        sys.exit(f"check-dev-page: words are broken: {broken}; values are {narrow} pixels wide")


def use_faults(browser):
    """One request is answered 503 and tried again; answers become slow; all clear."""
    use_key(browser, "match-1")
    open_tab(browser, "Faults")
    browser.run("document.getElementById('fault-count').value = '1'")
    button = "[...document.querySelectorAll('#fault-buttons button')].find((one) => one.innerText === %s)"
    browser.run((button % "'503, unavailable'") + ".click()")
    browser.until("document.getElementById('fault-list').innerText.includes('APNs answers 503 ServiceUnavailable, once.')", "the fault in words")
    browser.run("document.getElementById('publish-event').value = JSON.stringify({event: 'update', priority: 10, 'content-state': {homeTeam: 'Lions', awayTeam: 'Bears', homeScore: 3, awayScore: 0, minute: 80}}); "
                "document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('entries').innerText.includes('efused (503 ServiceUnavailable)')", "the refusal")
    browser.until("document.querySelector('.lock-card .score')?.innerText.includes('3 : 0')", "the push that was tried again")
    browser.run((button % "'Answers take 2 s'") + ".click()")
    browser.until("document.getElementById('fault-list').innerText.includes('Answers take 2000 ms.')", "slow answers in words")
    browser.run("document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('entries').innerText.includes('Waits for APNs’ answer to a push that is on its way.')", "what an event waits for")
    browser.run((button % "'All clear'") + ".click()")
    browser.until("document.getElementById('fault-list').innerText === 'Nothing goes wrong on purpose.'", "APNs to be well again")


def use_templates(browser):
    """A template of the developer's own; first one that is wrong."""
    open_tab(browser, "App")
    browser.run("document.getElementById('template-text').value = '{\"headline\": \"clock\"}'; document.getElementById('template-form').requestSubmit()")
    browser.until("document.getElementById('template-answer').innerText.includes('“headline” is not a field')", "what is wrong with the template")
    browser.run("document.getElementById('template-text').value = JSON.stringify({templates: [{when: {activity: 'match-*', keys: ['minute']}, title: 'homeTeam', lines: [{label: 'Goals', key: 'homeScore'}], progress: 'minute'}]}); "
                "document.getElementById('template-form').requestSubmit()")
    browser.until("document.querySelector('.lock-card .headline')?.innerText === 'Lions' && document.querySelector('.lock-card dt')?.innerText === 'Goals' && document.querySelector('.lock-card progress')", "the card by the template")


def follow_a_link(browser):
    """The address of a push leads to its event, opened."""
    number = browser.run("[...document.querySelectorAll('#entries > li')].find((one) => one.innerText.includes('refused (503')).id.replace('entry-', '')")
    push = browser.run(f"fetch('/api/entries/{number}').then((answer) => answer.json()).then((entry) => fetch(`/api/entries/${{entry.related[0]}}`)).then((answer) => answer.json()).then((entry) => entry.apnsID)")
    browser.run(f"location.hash = '#search=push:{push}'")
    browser.until(f"document.querySelector('#entry-{number} details').open && document.getElementById('entry-count').innerText.endsWith('found')", "what the link leads to")
    browser.run("location.hash = ''")
    browser.until("document.getElementById('search-text').value === ''", "the search to end")


def open_a_phone(browser, address):
    """The address of a phone that is not the newest leads to it, also when the page is opened there."""
    phones = browser.run("fetch('/api/phones').then((answer) => answer.json()).then((phones) => phones.map((phone) => phone.id))")
    if len(phones) < 2:
        sys.exit("check-dev-page: there is one phone alone, and any link would lead to it")
    phone = phones[0]
    browser.go("about:blank")
    browser.go(f"{address}/#phone={phone}")
    browser.until(f"document.querySelector('#phone-list button[data-phone=\"{phone}\"]').getAttribute('aria-pressed') === 'true'", "the phone that the page's address names")


def use_worker_page(browser):
    """The page of the worker's own admin port: its partitions, and what it knows of an activity."""
    page = browser.run("fetch('/api/about').then((answer) => answer.json()).then((about) => about.workerPage)")
    browser.go(page)
    browser.until("document.getElementById('status')?.className === 'good' && document.querySelectorAll('#partitions tbody tr').length === 4", "the partitions")
    browser.until("document.querySelector('#routes tbody').innerText.includes('production/DEVKEY1234')", "the connections to APNs")
    if browser.run("document.getElementById('token-panel').checkVisibility() || document.getElementById('worker').innerText.includes('apple.com')"):
        sys.exit("check-dev-page: the worker's page asks for a token, or the worker for Apple's servers")
    browser.run("document.getElementById('lookup-id').value = 'match-1'; document.getElementById('lookup').requestSubmit()")
    browser.until("document.querySelector('#lookup-found pre')?.innerText.includes('\"life\": \"alive\"')", "what the worker knows of an activity")
    if browser.run("document.querySelector('#lookup-found p') !== null"):
        sys.exit("check-dev-page: the worker's page says that something waits")
    browser.run("document.getElementById('lookup-id').value = 'nobody'; document.getElementById('lookup').requestSubmit()")
    browser.until("document.getElementById('lookup-answer').innerText.includes('knows no such activity')", "that it knows nothing of another")
    browser.run("document.getElementById('lookup-kind').value = 'audiences'; document.getElementById('lookup-id').value = 'match-7'; document.getElementById('lookup').requestSubmit()")
    browser.until("document.querySelector('#lookup-found pre')?.innerText.includes('\"audience\": \"match-7\"')", "what the worker knows of an audience")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--mailboat", required=True, help="the built program")
    arguments.add_argument("--chromium", default="chromium")
    arguments.add_argument("--screenshots", help="a directory for pictures")
    options = arguments.parse_args()
    faults = read_scripts()
    with tempfile.TemporaryDirectory() as scratch:
        dev, address, kafka, snippets = start_dev(os.path.abspath(options.mailboat), scratch)
        browser = Browser(options.chromium, os.path.join(scratch, "profile"))
        try:
            faults.extend(foreign_pages.check(address.rstrip("/"), ["/api/state", "/api/about"], [("POST", "/events"), ("DELETE", "/api/faults")]))
            use(browser, address, snippets, os.path.abspath(options.mailboat))
            use_audiences(browser, address)
            use_channels(browser)
            use_budget(browser)
            use_long_names(browser, address)
            use_faults(browser)
            use_schemas(browser, address)
            use_templates(browser)
            follow_a_link(browser)
            open_a_phone(browser, address)
            dev_page_steps.use_all(browser, address, shell)
            dev_page_writing.use_all(browser, address, shell)
            dev_page_reading.use_all(browser, address, shell)
            views = [f"tab={name}" for name in ("timeline", "phone", "publish", "audiences", "channels", "faults", "app", "numbers")]
            page_audit.look_at(browser, faults, options.screenshots, "", views, texts_min=15)
            use_flood(browser, os.path.abspath(options.mailboat), kafka)
            dev_page_steps.use_phones_after_a_flood(browser, address, shell)
            use_worker_page(browser)
            page_audit.look_at(browser, faults, options.screenshots, "worker")
            # The pages were asked for what they refuse on purpose; a browser writes down the status.
            expected = re.compile(r"status of (400|404|409)")
            faults.extend(f"console: {text}" for text in browser.complaints if not expected.search(text))
        finally:
            browser.close()
            dev.send_signal(signal.SIGINT)
            try:
                if dev.wait(timeout=30) != 0:
                    faults.append(f"mailboat dev ended with {dev.returncode}")
            except subprocess.TimeoutExpired:
                dev.kill()
                faults.append("mailboat dev did not end within 30 s")
    for fault in dict.fromkeys(faults):
        print(f"check-dev-page: {fault}")
    if faults:
        sys.exit(1)
    print("check-dev-page: the page works, by mouse and by keyboard, on a desktop and on a phone, in the light and in the dark")


if __name__ == "__main__":
    main()
