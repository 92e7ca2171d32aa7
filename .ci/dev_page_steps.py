"""What the page of `mailboat dev` owes whoever looks at it: the answer in view, an address for what is seen, keys, and the truth about phones."""

import json
import sys
import time
import urllib.parse

from page_audit import set_window


def open_tab(browser, label):
    browser.run(f"[...document.querySelectorAll('#tabs a')].find((one) => one.innerText === {label!r}).click()")
    browser.until(f"document.querySelector('#tabs a[aria-current]')?.innerText === {label!r}", f"the tab {label}")


def choose_phone(browser, name=None):
    """The phone whose button has this text; else the newest."""
    browser.run("document.getElementById('quiet-phones').open = true")
    meant = f".filter((one) => one.innerText.includes({name!r}))" if name else ""
    phone = f"[...document.querySelectorAll('#phones .chips button')]{meant}.sort((one, other) => Number(other.dataset.phone) - Number(one.dataset.phone))[0]"
    browser.until(phone, f"the phone {name or 'that came last'}")
    browser.run(f"{phone}.click()")
    browser.until(f"{phone}.ariaPressed === 'true'", "the chosen phone to be pressed")


def publish(shell, address, activity, content, **more):
    event = json.dumps({"event": "update", "priority": 10, "content-state": content, **more})
    shell(f"curl -fsS '{address}/events?activity={urllib.parse.quote(activity)}' -d '{event}'")


def use_all(browser, address, shell):
    browser.run("location.hash = ''")
    see_the_answer(browser, address, shell)
    use_addresses(browser, address)
    use_keys(browser)
    use_older_and_clear(browser, address, shell)
    use_remedies(browser, address, shell)
    wait_for_a_retry(browser, address, shell)
    cut_a_card(browser, address, shell)
    open_a_search(browser, address, shell)
    follow_what_is_gone(browser, address)
    say_what_is_not_so(browser, address, shell)
    take_swift(browser, address, shell)
    give_tokens(browser, address, shell)
    browser.run("location.hash = ''")


IN_VIEW = """[...document.querySelectorAll('#newest, #entries > li')].some((one) => {
    if (%s.some((word) => !one.innerText.includes(word))) return false;
    const box = one.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight && one.contains(document.elementFromPoint(box.left + 30, box.top + 15)); })"""


def see_the_answer(browser, address, shell):
    """What became of the last event stands in the window, whatever the window and wherever the page was scrolled to before."""
    for window, tabs in (("desktop", ["Publish", "Audiences", "Faults"]), ("tablet", ["Publish", "Timeline"]), ("phone", ["Timeline", "Phone", "Publish", "Audiences", "Faults"])):
        set_window(browser, window)
        for number, tab in enumerate(tabs):
            open_tab(browser, tab)
            browser.run("scrollTo(0, 5000); for (const column of document.querySelectorAll('.column')) column.scrollTop = 5000 * %d" % (number % 2))
            publish(shell, address, f"answer-{window}-{number}", {"minutes": number})
            browser.until(IN_VIEW % json.dumps([f"answer-{window}-{number}", "update", "delivered", "shown"]), f"what became of the last event to be in view, in {tab} of a {window}")
    set_window(browser, "desktop")
    if browser.run("document.scrollingElement.scrollHeight > innerHeight"):
        sys.exit("check-dev-page: the page is higher than its window")
    if browser.run("document.getElementById('status').innerText") != "Ready":
        sys.exit("check-dev-page: the status says more than how it stands")


def use_addresses(browser, address):
    """A phone, a search, an open line and a tab have an address. Back goes back, and a new visit shows it all, draft included."""
    browser.run("location.hash = ''")
    browser.until("!document.querySelector('#entries details[open]')", "nothing to be open")
    choose_phone(browser, "match-1")
    browser.until("/phone=\\d+/.test(location.hash)", "the phone in the address")
    open_tab(browser, "Faults")
    browser.run("const field = document.getElementById('search-text'); field.value = 'is:event match-1'; field.dispatchEvent(new Event('input'))")
    browser.until("location.hash.includes('search=is:event%20match-1') && document.getElementById('entry-count').innerText.includes('found')", "the search in the address")
    browser.run("document.querySelector('#entries summary').click()")
    browser.until("/entry=\\d+/.test(location.hash) && document.querySelector('#entries details[open] .body').innerText.includes('partition')", "the open line in the address")
    shown = browser.run("location.hash")
    browser.run("const text = document.getElementById('publish-event'); text.value = '{\"a draft\": 1}'")
    browser.reload()
    browser.until("document.querySelector('#entries details[open] .body')?.innerText.includes('partition') && document.getElementById('search-text').value === 'is:event match-1' && document.querySelector('#phones [aria-pressed=true]')", "the page as it was")
    kept = browser.run("[location.hash, document.querySelector('#tabs a[aria-current]').innerText, document.querySelector('#phones [aria-pressed=true]').innerText.includes('match-1'), document.getElementById('publish-event').value]")
    if kept != [shown, "Faults", True, '{"a draft": 1}']:
        sys.exit(f"check-dev-page: loaded again, the page has {kept}, not {shown}")
    for step, gone in (("history.back()", "entry="), ("history.back()", "search="), ("history.back()", "tab="), ("history.back()", "phone=")):
        browser.run(step)
        browser.until(f"!location.hash.includes('{gone}')", f"Back to take {gone} away")
    browser.until("!document.querySelector('#entries details[open]') && document.getElementById('search-text').value === '' && document.querySelector('#tabs a[aria-current]').innerText !== 'Faults'", "the page as it was before")
    browser.run("history.forward()")
    browser.until("location.hash.includes('phone=')", "Forward to bring the phone")
    browser.run("location.hash = ''; document.getElementById('publish-sample').onchange()")


def use_keys(browser):
    """By keyboard alone: a search, its lines, one of them opened, and the way out; and the list of phones."""
    browser.run("document.activeElement?.blur()")
    browser.press("/", 191, "/")
    browser.until("document.activeElement.id === 'search-text'", "the slash to lead to the search")
    for letter in "match-1":
        browser.press(letter, ord(letter.upper()), letter)
    browser.until("document.getElementById('entry-count').innerText.includes('found')", "what the keys searched for")
    at = "[...document.querySelectorAll('#entries summary')].indexOf(document.activeElement)"
    for key, code, place in (("ArrowDown", 40, 0), ("ArrowDown", 40, 1), ("ArrowDown", 40, 2), ("ArrowUp", 38, 1), ("End", 35, None), ("Home", 36, 0)):
        browser.press(key, code)
        browser.until(f"{at} === {'document.querySelectorAll(`#entries summary`).length - 1' if place is None else place}", f"{key} to lead to line {place}")
    browser.press("Enter", 13, "\r")
    browser.until("document.querySelector('#entries details').open && /entry=/.test(location.hash)", "Enter to open the line")
    browser.press("Enter", 13, "\r")
    browser.until("!document.querySelector('#entries details').open", "Enter to close the line")
    browser.press("ArrowUp", 38)
    browser.until("document.activeElement.id === 'search-text'", "the arrow to lead back to the search")
    browser.press("Escape", 27)
    browser.until("document.getElementById('search-text').value === '' && !location.hash.includes('search')", "Escape to end the search")
    browser.run("document.getElementById('quiet-phones').open = true; document.querySelector('#phones .chips button').focus()")
    browser.until("document.querySelectorAll('#phones .chips button').length > 1", "the list of phones")
    for _ in range(2):
        browser.press("ArrowDown", 40)
        if browser.run("document.activeElement.ariaPressed") == "false":
            break
    browser.until("document.activeElement === document.querySelectorAll('#phones .chips button')[1]", "the arrows to lead to the next phone")
    browser.press("Enter", 13, "\r")
    browser.until("document.activeElement.ariaPressed === 'true' && location.hash.includes(`phone=${document.activeElement.dataset.phone}`)", "Enter to choose the phone")
    browser.run("location.hash = ''")


def use_older_and_clear(browser, address, shell):
    """More lines than are drawn are there on request; what was cleared comes back."""
    browser.until("!document.getElementById('older').hidden", "older lines to be offered")
    before = browser.run("document.querySelectorAll('#entries > li').length")
    browser.run("document.getElementById('older').click()")
    browser.until(f"document.querySelectorAll('#entries > li').length > {before}", "older lines")
    browser.run("document.getElementById('clear').click()")
    browser.until("document.querySelectorAll('#entries > li').length === 0 && document.getElementById('nothing').innerText.includes('since it was cleared')", "the list to be empty")
    publish(shell, address, "order-1", {"status": "New"})
    browser.until("document.querySelectorAll('#entries > li').length === 1", "what came since")
    browser.run("document.getElementById('uncleared').click()")
    browser.until("document.querySelectorAll('#entries > li').length > 1 && !location.hash.includes('after')", "what was cleared")


def remedy(label):
    return f"[...document.querySelectorAll('.phone-says .note button')].find((one) => one.innerText === {label!r})"


def use_remedies(browser, address, shell):
    """What can be done stands in the note; a phone that fails comes before those that are well; what APNs refused of a token goes with the token."""
    note = "document.querySelector('.phone-says .note')"
    publish(shell, address, "remedy-1", {"status": "Baking", "minutes": 12})
    choose_phone(browser, "remedy-1")
    browser.until(f"{note}.innerText.includes('shown')", "the card")
    act = "fetch(`/api/phones/${document.querySelector('#phones [aria-pressed=true]').dataset.phone}/change-token`, { method: 'POST' })"
    browser.run(act)
    publish(shell, address, "remedy-1", {"status": "Baking", "minutes": 11})
    browser.until(remedy("Register the new token"), "the remedy of a token that is not told")
    choose_phone(browser, "match-1")
    browser.until("document.querySelectorAll('#phone-list button')[1]?.innerText.includes('remedy-1') && !document.querySelector('#quiet-list').innerText.includes('refused')", "the phone that fails to stand first")
    choose_phone(browser, "remedy-1")
    browser.run(f"{remedy('Register the new token')}.click()")
    browser.until(f"{note}.className.includes('good')", "the new token to work")

    # A token that dies, where there is no other.
    phone = browser.run("Number(document.querySelector('#phones [aria-pressed=true]').dataset.phone)")
    fault = json.dumps({"kind": "answer", "status": 410, "reason": "Unregistered", "timestampMillis": int(time.time() * 1000), "count": 1, "phone": phone})
    shell(f"curl -fsS {address}/api/faults -d '{fault}'")
    publish(shell, address, "remedy-1", {"status": "Baking", "minutes": 10})
    browser.until(f"{note}.innerText.includes('The app has no newer token') && !({remedy('Register the new token')})", "no advice to register what does not exist")
    browser.run(f"{remedy('Give it a new token, and register that')}.click()")
    browser.until(f"{note}.className.includes('good')", "the push to the new token")

    # What APNs refuses for good can be sent again.
    fault = json.dumps({"kind": "answer", "status": 413, "reason": "PayloadTooLarge", "count": 1})
    shell(f"curl -fsS {address}/api/faults -d '{fault}'")
    publish(shell, address, "remedy-1", {"status": "Baking", "minutes": 9})
    browser.until(remedy("Send the event again"), "the event to be sent again")
    browser.run(f"{remedy('Send the event again')}.click()")
    browser.until(f"{note}.className.includes('good')", "what was sent again")

    # A misspelt key is named.
    sample = json.dumps({"status": "Baking", "minutes": 1})
    shell(f"curl -fsS -X PUT {address}/api/schemas -d '{sample}'")
    publish(shell, address, "remedy-1", {"status": "Baking", "Minutes": 8})
    browser.until(f"{note}.innerText.includes('“Minutes” is there, which Swift takes for another key')", "the key that is nearly right")
    if browser.run(f"Boolean({remedy('Copy a Swift type for this content')})"):
        sys.exit("check-dev-page: a type that fits the server's mistake is offered, where the app's type is known")
    shell(f"curl -fsS -X DELETE {address}/api/schemas")


def wait_for_a_retry(browser, address, shell):
    """What APNs refused and the worker tries again is no end: the phone says when."""
    publish(shell, address, "retry-1", {"minutes": 12})
    choose_phone(browser, "retry-1")
    fault = json.dumps({"kind": "answer", "status": 503, "reason": "ServiceUnavailable", "count": 4})
    shell(f"curl -fsS {address}/api/faults -d '{fault}'")
    publish(shell, address, "retry-1", {"minutes": 11})
    note = "document.querySelector('.phone-says .note')"
    browser.until(f"{note}.innerText.includes('retrying') && /It may leave at \\d\\d:\\d\\d:\\d\\d\\./.test({note}.innerText)", "the phone to say when it is tried again")
    row = "[...document.querySelectorAll('#entries > li')].find((one) => one.innerText.includes('retry-1') && one.innerText.includes('pending'))"
    browser.until(f"({row})?.innerText.includes('refused')", "the attempt behind its event")
    shell(f"curl -fsS -X DELETE {address}/api/faults")
    browser.until(f"{note}.className.includes('good')", "the attempt that worked")


def cut_a_card(browser, address, shell):
    """A card is as high as iOS lets it be; its name may be long."""
    key = "z" * 120 + "-restaurants_of_theRiverside"
    publish(shell, address, key, {f"key{number}": "x" * 50 for number in range(6)})
    choose_phone(browser, "restaurants")
    browser.until("document.querySelector('.lock-card')?.clientHeight === 160 && document.querySelector('.screen .cut').innerText.startsWith('Cut at 160 points')", "the card to be cut")


def open_a_search(browser, address, shell):
    """A page that is opened with a search lists what it finds, and nothing else, also once all the rest has come."""
    publish(shell, address, "searched-1", {"status": "Found"})
    browser.go("about:blank")
    browser.go(f"{address}/#search=activity:searched-1")
    browser.until("document.getElementById('entry-count').innerText.endsWith('found') && document.querySelectorAll('#entries > li').length > 0 && document.querySelector('#phone-list button')", "what the address searches for")
    publish(shell, address, "order-1", {"status": "Another"})
    browser.until("[...document.querySelectorAll('#quiet-list button, #phone-list button')].length > 0 && document.getElementById('status').innerText === 'Ready'", "the page to follow")
    foreign = browser.run("[...document.querySelectorAll('#entries > li')].filter((one) => !one.innerText.includes('searched-1')).length")
    if foreign or browser.run("document.getElementById('search-text').value") != "activity:searched-1":
        sys.exit(f"check-dev-page: a page that was opened with a search lists {foreign} others")
    browser.run("location.hash = ''")


def follow_what_is_gone(browser, address):
    """What a link names and is not here is said to be gone, and nothing else is passed off as it."""
    browser.run("location.hash = '#entry=999999'")
    browser.until("document.getElementById('search-answer').innerText.includes('Entry 999999 is gone')", "the entry to be gone")
    browser.run("location.hash = '#phone=999999'")
    browser.until("document.getElementById('gone-phone').innerText.startsWith('Phone 999999 is not listed here')", "the phone to be gone")
    browser.run("location.hash = ''")
    browser.until("document.getElementById('gone-phone').hidden && document.getElementById('search-answer').innerText === ''", "nothing to be gone")


def say_what_is_not_so(browser, address, shell):
    """No green where the page knows better: a doubtful date, a card that has gone."""
    note = "document.querySelector('.phone-says .note')"
    publish(shell, address, "truth-1", {"arrivesAt": "2026-11-27T17:05:00Z"})
    choose_phone(browser, "truth-1")
    browser.until(f"{note}.className.includes('warn') && {note}.innerText.includes('date?') && document.querySelector('#phone').innerText.includes('A Date in Swift does not decode text')", "a date that is text to be doubted")
    browser.until("[...document.querySelectorAll('#entries > li')].find((one) => one.innerText.includes('update') && one.innerText.includes('truth-1')).querySelector('.badge.warn')", "its line to be doubted")
    publish(shell, address, "truth-1", {"status": "Baking"})
    browser.until(f"{note}.className.includes('good')", "the card without a date")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Swipe the card away').click()")
    browser.until(f"{note}.innerText.includes('gone') && !{note}.className.includes('good')", "the card that was swiped away to be gone")


def take_swift(browser, address, shell):
    """The app's own type decides what a date is and what a whole number is."""
    note = "document.querySelector('.phone-says .note')"
    open_tab(browser, "App")
    swift = "struct PizzaAttributes: ActivityAttributes {\n  struct ContentState: Codable, Hashable {\n    var minutes: Int\n    var arrivesAt: Date\n    var courier: String?\n  }\n}"
    browser.run(f"document.getElementById('schema-text').value = {json.dumps(swift)}; document.getElementById('schema-form').requestSubmit()")
    browser.until("document.getElementById('schema-answer').innerText.includes('It is a Swift type')", "the Swift type to be taken")
    publish(shell, address, "swift-1", {"minutes": 25, "arrivesAt": "2026-11-27T17:05:00Z"})
    choose_phone(browser, "swift-1")
    browser.until(f"{note}.innerText.includes('send 817491900')", "the number to send")
    publish(shell, address, "swift-1", {"minutes": 12.5, "arrivesAt": 817491900})
    browser.until(f"{note}.innerText.includes('expected an Int')", "a whole number to be asked for")
    publish(shell, address, "swift-1", {"minutes": 12, "arrivesAt": 817491900})
    browser.until(f"{note}.className.includes('good')", "what fits the type")
    browser.run("document.getElementById('schema-none').click()")
    browser.until("document.getElementById('schema-none').hidden", "the type to be taken away")


def give_tokens(browser, address, shell):
    """A phone's token can be had whole, as the event that registers it."""
    open_tab(browser, "Publish")
    choose_phone(browser, "swift-1")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Write its register event').click()")
    browser.until("/\"token\": \"[0-9a-f]{64}\"/.test(document.getElementById('publish-event').value) && !document.getElementById('publish-tokens').hidden", "the register event")
    browser.run("document.getElementById('publish').requestSubmit()")
    browser.until("document.querySelector('#publish-next button')?.innerText === 'See its card'", "the way to its card")
    browser.run("document.getElementById('publish-sample').value = '5'; document.getElementById('publish-sample').onchange()")
    browser.until("document.querySelector('#publish-next button')?.innerText === 'Bring back what I had written'", "what was written to be kept")
    browser.run("document.querySelector('#publish-next button').click()")
    browser.until("document.getElementById('publish-event').value.includes('register')", "what was written")
    browser.run("document.getElementById('snippets').open = true")
    browser.until("document.querySelector('#snippet-list pre')?.innerText.includes('activity=swift-1')", "the command for what is in the form")


def begin_to_watch(browser):
    """From now on the page counts how often it is told something, and looks at all phones again and again."""
    browser.run("""window.told = []; window.unseen = 0; window.looks = 0;
        window.source = new EventSource("/api/stream"); source.onmessage = () => told.push(performance.now());
        window.looking = setInterval(async () => {
          const phones = await fetch("/api/phones").then((answer) => answer.json());
          looks += phones.length;
          unseen += phones.filter((phone) => phone.verdict?.word === "shown" && (phone.card === "untouched" || phone.contentState === null)).length;
        }, 40)""")


def end_to_watch(browser):
    """No phone was said to show what nobody had seen, and nobody was told more often than four times a second."""
    told, unseen, looks = browser.run("(() => { source.close(); clearInterval(looking); return [told, unseen, looks]; })()")
    # What is told at 0, 250, 500 … may be heard a little later.
    most = max(sum(1 for other in told if at <= other < at + 1_900) for at in told)
    if most > 8:
        sys.exit(f"check-dev-page: the page was told {most} times within 1.9 s")
    if unseen or not looks:
        sys.exit(f"check-dev-page: {unseen} of {looks} looks at phones found one that is said to show what nobody has seen")


def use_phones_after_a_flood(browser, address, shell):
    """Phones come by themselves again, and the page says so."""
    publish(shell, address, "after-the-flood", {"minutes": 3})
    shell(f"curl --fail-with-body -sS '{address}/wait-for?activity=after-the-flood&key=minutes&value=3&timeout=20'")
    if "gets one with its next event" not in browser.run("document.getElementById('unlisted').innerText"):
        sys.exit("check-dev-page: after a flood the page does not say that phones come again")
