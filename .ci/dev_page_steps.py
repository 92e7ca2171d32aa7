"""What the page of `mailboat dev` owes whoever looks at it: the answer in view, an address for what is seen, keys, and the truth about phones."""

import json
import sys
import time
import urllib.parse

from page_audit import set_window


def open_tab(browser, label):
    link = f"[...document.querySelectorAll('#tabs a')].find((one) => one.innerText === {label!r})"
    # Which tabs there are changes just after the window has.
    browser.until(link, f"a tab {label}")
    browser.run(f"{link}.click()")
    browser.until(f"document.querySelector('#tabs a[aria-current]')?.innerText === {label!r}", f"the tab {label}")


def choose_phone(browser, name=None):
    """The phone whose button has this text; else the newest."""
    browser.run("document.getElementById('quiet-phones').open = true")
    meant = f".filter((one) => one.innerText.includes({name!r}))" if name else ""
    phone = f"[...document.querySelectorAll('#phones .chips button')]{meant}.sort((one, other) => Number(other.dataset.phone) - Number(one.dataset.phone))[0]"
    browser.until(phone, f"the phone {name or 'that came last'}")
    browser.run(f"{phone}.click()")
    browser.until(f"{phone}.ariaPressed === 'true'", "the chosen phone to be pressed")


def use_key(browser, activity):
    """The phone of an activity is chosen, and its key is taken for the form, whatever was written there."""
    choose_phone(browser, activity)
    key = f"document.getElementById('publish-activity').value === {activity!r}"
    browser.until(f"{key} || document.getElementById('publish-use-key').innerText === 'Use {activity} as key'", f"the key {activity} to be offered")
    browser.run(f"if (!({key})) document.getElementById('publish-use-key').click()")
    browser.until(f"{key} && document.getElementById('publish-use-key').hidden", f"the key {activity}")


def publish(shell, address, activity, content, **more):
    event = json.dumps({"event": "update", "priority": 10, "content-state": content, **more})
    shell(f"curl -fsS '{address}/events?activity={urllib.parse.quote(activity)}' -d '{event}'")


def use_all(browser, address, shell):
    browser.run("location.hash = ''")
    see_the_answer(browser, address, shell)
    open_many_tabs(browser, address)
    use_addresses(browser, address)
    use_keys(browser)
    tab_past_the_lines(browser)
    skip_to_the_lines(browser)
    see_what_is_published(browser, address, shell)
    use_older_and_clear(browser, address, shell)
    use_remedies(browser, address, shell)
    clear_phones(browser, address, shell)
    tell_lines_apart(browser, address, shell)
    wait_for_a_retry(browser, address, shell)
    cut_a_card(browser, address, shell)
    open_a_search(browser, address, shell)
    follow_what_is_gone(browser, address)
    say_what_is_not_so(browser, address, shell)
    take_swift(browser, address, shell)
    give_tokens(browser, address, shell)
    stack_cards(browser, address, shell)
    begin_with_a_start(browser, address, shell)
    follow_the_phone_with_the_key(browser, address, shell)
    say_where_an_event_goes(browser)
    tell_of_a_new_token(browser, address, shell)
    correct_an_event(browser)
    be_started_again(browser, address, shell)
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


def open_many_tabs(browser, address):
    """Tabs that nobody sees take no connection from the one that is seen: a browser has six to one address. A tab follows again once it is seen."""
    seen = browser.session
    # More than there are connections.
    tabs = [browser.open(address) for _ in range(8)]
    last, browser.session = browser.session, seen
    browser.call("Page.bringToFront")
    browser.run("document.getElementById('publish-answer').innerText = ''; document.getElementById('publish-activity').value = 'many-tabs'; "
                "document.getElementById('publish-sample').onchange(); document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('publish-answer').innerText.startsWith('Published')", "one of many tabs to publish")
    browser.session = last
    browser.call("Page.bringToFront")
    browser.until("document.getElementById('entries').innerText.includes('many-tabs')", "a tab to follow once it is seen")
    browser.session = seen
    for tab in tabs:
        browser.call("Target.closeTarget", targetId=tab)
    browser.call("Page.bringToFront")
    # Six windows side by side: a request that nobody answers.
    browser.run("window.asked = window.fetch; window.fetch = (path, options) => path.startsWith('/events') ? new Promise((answered) => { window.answer = answered; }) : asked(path, options); document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('publish-answer').innerText === 'The browser may have no connection left: this page is open in several tabs. Close one.'", "what may be the matter")
    browser.run("window.fetch = asked; answer(new Response('{\"partition\": 1, \"offset\": 2}'))")
    browser.until("document.getElementById('publish-answer').innerText.startsWith('Published')", "the late answer")


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


def tab_past_the_lines(browser):
    """A full timeline is one tab stop, and so are the phones; Tab leads back to the line where one was."""
    browser.until("document.querySelectorAll('#entries summary').length === 40 && !document.querySelector('#entries details[open]')", "a full timeline")
    # The column at its beginning: further down, a link to the newest line stands before the lines.
    browser.run("document.getElementById('timeline').scrollTop = 0; document.getElementById('search-only').focus()")
    browser.until("document.getElementById('newest').hidden", "the newest line to be in view")
    browser.press("Tab", 9)
    browser.until("document.activeElement.matches('#entries summary')", "Tab to lead to a line")
    for key, code, place in (("Home", 36, 0), ("ArrowDown", 40, 1), ("ArrowDown", 40, 2)):
        browser.press(key, code)
        browser.until(f"[...document.querySelectorAll('#entries summary')].indexOf(document.activeElement) === {place}", f"{key} to lead to line {place}")
    browser.run("window.line = document.activeElement")
    browser.press("Tab", 9)
    browser.until("document.activeElement.id === 'older'", "Tab to lead past all lines")
    browser.press("Tab", 9, modifiers=8)
    browser.until("document.activeElement === line", "Shift and Tab to lead back to the line")
    browser.press("Tab", 9, modifiers=8)
    # A link may stand between the search and the lines, as what the page says there changes.
    browser.until("document.activeElement !== document.body && !document.activeElement.closest('#entries')", "Shift and Tab to lead out of the lines")
    browser.run("document.getElementById('quiet-phones').open = true; document.querySelector('#phone-list [aria-pressed=true]').focus()")
    browser.until("document.querySelectorAll('#quiet-list button').length > 3", "the other phones")
    browser.press("Tab", 9)
    browser.until("document.activeElement.id === 'quiet-title'", "Tab to lead past the phones of the list")
    browser.press("Tab", 9)
    browser.until("!document.activeElement.closest('.chips')", "Tab to lead past the folded phones")
    browser.run("document.getElementById('quiet-phones').open = false; location.hash = ''")


def skip_to_the_lines(browser):
    """The link that skips to the timeline leads to its newest line, or to the open one; to the column where there is none."""
    skip = "const link = document.getElementById('skip'); link.focus()"
    at = "document.activeElement === document.querySelector('#entries %s')"
    for window in ("desktop", "phone"):
        set_window(browser, window)
        open_tab(browser, "Faults")
        browser.run(f"{{ {skip} }}")
        browser.press("Enter", 13, "\r")
        browser.until(at % "summary", f"the newest line to have the focus, on a {window}")
        browser.run("document.querySelectorAll('#entries summary')[2].click()")
        browser.until("document.querySelector('#entries details[open]')", "a line to be open")
        browser.run(f"{{ {skip} }}")
        browser.press("Enter", 13, "\r")
        browser.until(at % "details[open] > summary", f"the open line to have the focus, on a {window}")
        browser.run("location.hash = ''")
    set_window(browser, "desktop")
    browser.run("location.hash = '#search=nothing-has-this-word'")
    browser.until("document.getElementById('nothing').innerText.startsWith('Nothing fits.')", "an empty timeline")
    browser.run(f"{{ {skip} }}")
    browser.press("Enter", 13, "\r")
    browser.until("document.activeElement.id === 'timeline'", "the empty timeline to have the focus")
    browser.run("location.hash = ''")


def see_what_is_published(browser, address, shell):
    """The phone of what was published on the page is shown, a new one, too; one that comes by another way is offered. Back leads back."""
    open_tab(browser, "Publish")
    choose_phone(browser, "match-1")
    form = "document.getElementById('publish-activity').value = %r; document.getElementById('publish-event').value = JSON.stringify({event: 'update', 'content-state': {minutes: 5}}); document.getElementById('publish').requestSubmit()"
    shown = "document.querySelector('#phones [aria-pressed=true]').innerText.includes(%r)"
    browser.run("document.getElementById('publish-event').focus();" + form % "published-1")
    browser.until(shown % "published-1", "the new phone of what was published")
    if browser.run("document.activeElement.id") != "publish-event":
        sys.exit("check-dev-page: the new phone takes the focus from the form")
    browser.run("history.back()")
    browser.until(shown % "match-1", "Back to lead to the phone before")
    browser.run(form % "published-1")
    browser.until(shown % "published-1", "the phone of what was published again")
    publish(shell, address, "published-2", {"minutes": 6})
    browser.until("document.getElementById('newcomer').innerText === 'A phone has come: published-2'", "the new phone to be offered")
    if not browser.run(shown % "published-1"):
        sys.exit("check-dev-page: what others publish takes the chosen phone away")
    browser.run("document.querySelector('#newcomer a').click()")
    browser.until(shown % "published-2" + " && document.getElementById('newcomer').hidden", "the phone that was offered")
    # On a phone the form stays, and leads to the card.
    set_window(browser, "phone")
    open_tab(browser, "Publish")
    browser.run(form % "published-3")
    browser.until("document.querySelector('#publish-next button')?.innerText === 'See its card' && ['published-3', 'shown'].every((word) => document.getElementById('newest').innerText.includes(word))", "the way to its card")
    browser.run("document.querySelector('#publish-next button').click()")
    browser.until("document.querySelector('#tabs a[aria-current]').innerText === 'Phone' && document.querySelector('.lock-card')?.innerText.includes('5')", "its card")
    set_window(browser, "desktop")
    browser.run("location.hash = ''; document.getElementById('publish-sample').onchange()")


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
    browser.until(f"{note}.innerText.includes('“Minutes” is there, which is another key for Swift')", "the key that is nearly right")
    if browser.run(f"Boolean({remedy('Copy a Swift type for this content')})"):
        sys.exit("check-dev-page: a type that fits the server's mistake is offered, where the app's type is known")
    shell(f"curl -fsS -X DELETE {address}/api/schemas")


def clear_phones(browser, address, shell):
    """Clearing folds phones that failed away, until something new is for them."""
    publish(shell, address, "cleared-1", {"minutes": 3})
    choose_phone(browser, "cleared-1")
    browser.until("document.querySelector('.phone-says .note').className.includes('good')", "the card")
    browser.run("fetch(`/api/phones/${document.querySelector('#phones [aria-pressed=true]').dataset.phone}/change-token`, { method: 'POST' })")
    publish(shell, address, "cleared-1", {"minutes": 2})
    choose_phone(browser, "match-1")
    listed = "[...document.querySelectorAll('#phone-list button')].some((one) => one.innerText.includes('cleared-1') && one.innerText.includes('refused'))"
    browser.until(listed, "the phone that fails to be listed")
    browser.run("document.getElementById('clear').focus()")
    browser.press("Enter", 13, "\r")
    browser.until(f"!({listed}) && document.getElementById('quiet-title').innerText.includes('cleared') && document.getElementById('phone-counts').innerText.includes('cleared')", "the phone that failed to be folded away")
    publish(shell, address, "cleared-1", {"minutes": 1})
    browser.until(listed, "the phone that fails anew to be listed")
    browser.run("document.getElementById('clear').click()")
    browser.until(f"!({listed})", "the phone to be folded away again")
    browser.run("document.getElementById('uncleared').click()")
    browser.until(listed, "the phone that was cleared to be back")
    browser.run("location.hash = ''")


def tell_lines_apart(browser, address, shell):
    """A line has its kind, activity and outcome, each in its place, and then what it brings."""
    publish(shell, address, "told-1", {"status": "Baking", "minutes": 3})
    publish(shell, address, "told-1", {"status": "Baking", "minutes": 2})
    publish(shell, address, "told-1", {"status": "Here"}, alert={"title": "At the door", "body": "Anne is here."})
    browser.run("location.hash = '#search=activity:told-1 is:event'")
    lines = "[...document.querySelectorAll('#entries .head')].map((one) => [...one.children].map((part) => part.className.split(' ')[0]).join())"
    browser.until("document.querySelectorAll('#entries > li').length === 4 && document.getElementById('entry-count').innerText.startsWith('4 found') && !document.getElementById('entries').innerText.includes('pending')", "its lines")
    found = browser.run(f"[{lines}, [...document.querySelectorAll('#entries .gist')].map((one) => one.innerText.replace(/[0-9a-f]{{8}}…/, '…'))]")
    # The registration may stand between the events.
    if found[0] != ["kind,mono,badges"] * 4 or sorted(found[1]) != ['alert “At the door”', 'minutes: 2', 'status: "Baking", 1 more', 'token …']:
        sys.exit(f"check-dev-page: the lines are {found}")
    for window in ("desktop", "phone"):
        set_window(browser, window)
        if window == "phone":
            open_tab(browser, "Timeline")
        places = browser.run("['.kind', '.mono'].map((part) => new Set([...document.querySelectorAll(`#entries .head ${part}`)].map((one) => Math.round(one.getBoundingClientRect().left))).size)")
        if places != [1, 1]:
            sys.exit(f"check-dev-page: kinds and activities stand at {places} places, on a {window}")
    set_window(browser, "desktop")
    browser.run("location.hash = ''")


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
    begin_anew(browser, "match-1")
    publish(shell, address, "searched-1", {"status": "Found"})
    browser.go("about:blank")
    browser.go(f"{address}/#search=activity:searched-1")
    browser.until("document.getElementById('entry-count').innerText.endsWith('found') && document.querySelectorAll('#entries > li').length > 0 && document.querySelector('#phone-list button')", "what the address searches for")
    publish(shell, address, "order-1", {"status": "Another"})
    browser.until("[...document.querySelectorAll('#quiet-list button, #phone-list button')].length > 0 && document.getElementById('status').innerText === 'Ready'", "the page to follow")
    foreign = browser.run("[...document.querySelectorAll('#entries > li')].filter((one) => !one.innerText.includes('searched-1')).length")
    # Another phone is newer: what is found is of one phone alone, and that one is shown.
    publish(shell, address, "searched-2", {"status": "Newer"})
    browser.until("document.getElementById('newcomer').innerText.includes('searched-2')", "the newer phone to be offered")
    if not browser.run("document.querySelector('#phones [aria-pressed=true]').innerText.includes('searched-1')"):
        sys.exit("check-dev-page: a page that was opened with a search for one phone shows another")
    browser.run("location.hash = '#search=is:event'")
    browser.until("document.getElementById('entry-count').innerText.includes('found') && document.querySelector('#phones [aria-pressed=true]').innerText.includes('searched-2')", "the newest phone, as many fit")
    browser.run("location.hash = '#search=activity:searched-1'")
    browser.until("document.querySelector('#phones [aria-pressed=true]').innerText.includes('searched-1')", "the phone of the search again")
    publish(shell, address, "searched-1", {"status": "Again"})
    browser.until("document.getElementById('search-said').textContent === ''", "a count that is no longer true to be said no more")
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
    # Counted from 1970, which Swift reads from 2001.
    sent = int(time.time()) + 25 * 60
    year = time.localtime(sent + 978_307_200).tm_year
    publish(shell, address, "truth-1", {"arrivesAt": sent})
    browser.until(f"document.querySelector('.lock-card dd')?.innerText.includes('{year}') && document.querySelector('.screen .compact').innerText.trim() === '{year}'", "the year that Swift reads on the card and in the island")
    if browser.run("document.querySelector('.lock-card dd wbr') !== null || document.querySelector('.phone-says .note table').innerText.includes('UTC')"):
        sys.exit("check-dev-page: a time of day is broken in two, or is not by the browser's clock")
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
    browser.until("document.getElementById('schema-answer').innerText.includes('It is the Swift type ')", "the Swift type to be taken")
    publish(shell, address, "swift-1", {"minutes": 25, "arrivesAt": "2026-11-27T17:05:00Z"})
    choose_phone(browser, "swift-1")
    browser.until(f"{note}.innerText.includes('send 817491900') && document.querySelector('.screen .lock-empty') && !document.querySelector('.lock-card')", "the number to send, and nothing on the phone")
    publish(shell, address, "swift-1", {"minutes": 12.5, "arrivesAt": 817491900})
    browser.until(f"{note}.innerText.includes('expected an Int')", "a whole number to be asked for")
    publish(shell, address, "swift-1", {"minutes": 12, "arrivesAt": 817491900})
    browser.until(f"{note}.className.includes('good')", "what fits the type")
    publish(shell, address, "swift-1", {"Minutes": 12})
    browser.until(f"{note}.innerText.includes('which is another key for Swift; also missing: “arrivesAt”') && document.querySelector('.lock-card').innerText.includes('12')", "all that is missing to be named, on a phone that shows what it showed")
    open_tab(browser, "Publish")
    use_key(browser, "swift-1")
    browser.until("[...document.getElementById('publish-sample').options].some((one) => one.text === 'From your Swift type')", "a sample made from the type")
    for name, target in (("Channel", "{ id: 'a' }"), ("Audience", "{ name: 'a', members: 0, shown: [], counts: {} }")):
        browser.run(f"import('/publish.js').then((page) => page.writeFor{name}({target}))")
        browser.until("JSON.parse(document.getElementById('publish-event').value)['content-state'].arrivesAt > 0", f"an event for the {name.lower()} that the type decodes")
    write_sample(browser, "From your Swift type")
    renew_a_sample(browser)
    browser.run("document.getElementById('publish').requestSubmit()")
    browser.until(f"{note}.className.includes('good') && document.querySelector('.lock-card').innerText.includes('courier')", "the sample that was made from the type")
    open_tab(browser, "App")
    browser.run("document.getElementById('schema-none').click()")
    browser.until("document.getElementById('schema-none').hidden", "the type to be taken away")


def renew_a_sample(browser):
    """After a reload, the date of a sample lies as far ahead. What somebody has changed stays to the letter."""
    text = "document.getElementById('publish-event').value"
    date = f"JSON.parse({text} || '{{}}')['content-state']?.arrivesAt"
    made = browser.run(date)
    time.sleep(2)
    browser.reload()
    browser.until(f"{date} > {made} && document.getElementById('publish-sample').selectedOptions[0]?.text === 'From your Swift type'", "the date of the sample to be renewed")
    browser.run(f"{{ const field = document.getElementById('publish-event'); field.value = field.value.replace('\"text\"', '\"Anne\"'); field.dispatchEvent(new Event('input')); }}")
    written = browser.run(text)
    time.sleep(2)
    browser.reload()
    browser.until("document.getElementById('publish-sample').selectedOptions[0]?.text === 'your own text' && document.querySelector('#phones [aria-pressed=true]')", "no sample to be named for what was changed")
    if "Anne" not in written or browser.run(text) != written:
        sys.exit(f"check-dev-page: what was written is changed: {written}")


def give_tokens(browser, address, shell):
    """A phone's token can be had whole, as the event that registers it."""
    open_tab(browser, "Publish")
    choose_phone(browser, "swift-1")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Write its register event').click()")
    browser.until("/\"token\": \"[0-9a-f]{64}\"/.test(document.getElementById('publish-event').value) && !document.getElementById('publish-tokens').hidden", "the register event")
    browser.run("document.getElementById('publish-answer').innerText = ''; document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('publish-answer').innerText.startsWith('Published for swift-1: ')", "the register event to be published")
    browser.run("document.getElementById('publish-sample').value = '5'; document.getElementById('publish-sample').onchange()")
    browser.until("document.querySelector('#publish-next button')?.innerText === 'Bring back what I had written'", "what was written to be kept")
    browser.run("document.querySelector('#publish-next button').click()")
    browser.until("document.getElementById('publish-event').value.includes('register')", "what was written")
    browser.run("document.getElementById('snippets').open = true")
    browser.until("document.querySelector('#snippet-list pre')?.innerText.includes('activity=swift-1')", "the command for what is in the form")


def write(browser, event):
    browser.run(f"{{ const text = document.getElementById('publish-event'); text.value = {json.dumps(json.dumps(event))}; text.dispatchEvent(new Event('input')); }}")


def begin_anew(browser, activity):
    """Nothing of one's own is in the form: its key follows the phone."""
    write_sample(browser, "Delivery")
    use_key(browser, activity)


def stack_cards(browser, address, shell):
    """Two orders that are started with one token: both cards are up, each with its own tokens and its own state."""
    for number in (1, 2):
        event = json.dumps({"event": "start", "to": {"start-token": "5a" * 16}, "attributes-type": "OrderAttributes", "attributes": {"number": number},
                            "content-state": {"status": f"Order {number} is baking"}, "alert": {"title": "Order", "body": "We are baking."}})
        shell(f"curl -fsS '{address}/events?activity=stacked-{number}' -d '{event}'")
    for number in (1, 2):
        shell(f"curl --fail-with-body -sS '{address}/wait-for?activity=stacked-{number}&key=status&timeout=20'")
    publish(shell, address, "stacked-1", {"status": "Order 1 is on its way"})
    choose_phone(browser, "stacked-1")
    cards = "[...document.querySelectorAll('.screen .lock-card')].map((one) => `${one.ariaLabel}: ${one.innerText}`).join('; ')"
    both = "Lock Screen card of stacked-2: Order 2 is baking; Lock Screen card of stacked-1: Order 1 is on its way"
    browser.until(f"{cards} === {both!r}", "both cards, the newer on top")
    browser.until("document.querySelector('.phone-says .note').className.includes('good') && document.querySelector('.phone-facts').innerText.includes('on one device with stacked-2')", "the first card to be shown, and the device that it is on")
    choose_phone(browser, "stacked-2")
    browser.until(f"{cards} === {both!r} && document.querySelector('.phone-says .note').className.includes('good')", "the same device from the other card")
    # The card that started first is in the island, until another is more relevant.
    island = "document.querySelector('.screen .compact').innerText"
    browser.until(f"{island}.includes('Order 1') && document.querySelector('.islands').innerText.includes('Order 1 is on its way') && document.querySelector('.islands .hint').innerText.includes('started first')", "the first card in the island")
    publish(shell, address, "stacked-2", {"status": "Order 2 is baking"}, **{"relevance-score": 100})
    choose_phone(browser, "stacked-1")
    browser.until(f"{island}.includes('Order 2') && document.querySelector('.islands .hint').innerText.includes('shows stacked-2: its relevance-score is the highest')", "the more relevant card in the island")
    choose_phone(browser, "stacked-2")
    alerts = "[...document.querySelectorAll('.screen .card-alert')].map((one) => one.innerText).join('; ')"
    if browser.run(f"{alerts}.includes('At the door')"):
        sys.exit("check-dev-page: an alert is told before it came")
    publish(shell, address, "stacked-1", {"status": "Order 1 is on its way"}, alert={"title": {"loc-key": "Order %@", "loc-args": ["1"]}, "body": "At the door."})
    browser.until(f"{alerts}.includes('Order 1') && {alerts}.includes('At the door.')", "the alert of the other card on the device")
    publish(shell, address, "stacked-2", {"status": "Order 2 is baking"}, priority=10)
    browser.until(f"{alerts} === ''", "the newer push to the card that is shown, which brought no alert")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Swipe the card away').click()")
    browser.until("/stacked-2\\s+The card was swiped away\\.\\s+stacked-1/.test(document.querySelector('.screen').innerText)", "the card that was swiped away to be named")
    browser.until(f"{island}.includes('Order 1') && document.querySelector('.islands .hint').innerText.includes('shows stacked-1: no other card on this device is active')", "the only active card in the island")
    choose_phone(browser, "stacked-1")
    browser.until(f"{cards} === 'Lock Screen card: Order 1 is on its way'", "the card that was not swiped away")


def write_sample(browser, name):
    browser.run(f"{{ const all = document.getElementById('publish-sample'); all.value = [...all.options].find((one) => one.text === {name!r}).value; all.onchange() }}")


def begin_with_a_start(browser, address, shell):
    """A start takes a key that no phone has, and names it in its attributes. One that came twice says what to do, and leaves no empty phone."""
    open_tab(browser, "Publish")
    for _ in range(2):
        write_sample(browser, "Start by push")
        key, text = browser.run("[document.getElementById('publish-activity').value, document.getElementById('publish-event').value]")
        event = json.loads(text)
        if not key.startswith("order-") or event["attributes"] != {"order": key} or event["input-push-token"] != 1:
            sys.exit(f"check-dev-page: a start of {key} begins with {text}")
        if browser.run(f"fetch('/api/phones').then((answer) => answer.json()).then((phones) => phones.some((one) => one.activity === {key!r}))"):
            sys.exit(f"check-dev-page: a start begins with {key}, which a phone has")
        browser.run("document.getElementById('publish').requestSubmit()")
        browser.until(f"document.querySelector('#phones [aria-pressed=true]').innerText.includes({key!r}) && document.querySelector('.phone-says .note').className.includes('good')", "the card that was started")
    phones = browser.run("fetch('/api/phones').then((answer) => answer.json()).then((phones) => phones.length)")
    browser.run("{ const text = document.getElementById('publish-event'); text.value = text.value.replace(/00112233\\w+/, 'abababababababab'); } document.getElementById('publish').requestSubmit()")
    browser.until(f"[...document.querySelectorAll('#entries > li')].find((one) => one.innerText.includes('start') && one.innerText.includes({key!r}))?.innerText.includes('Publish it with another key: each start needs an id of its own.')", "what to do about a start that came twice")
    if browser.run("fetch('/api/phones').then((answer) => answer.json()).then((phones) => phones.length)") != phones:
        sys.exit("check-dev-page: a start that came twice leaves a phone")


def follow_the_phone_with_the_key(browser, address, shell):
    """The key is that of the phone that is shown, however it was chosen, until somebody types one. What is not here chooses no phone."""
    key = "document.getElementById('publish-activity').value === %r"
    for activity in ("keyed-1", "keyed-2"):
        publish(shell, address, activity, {"minutes": 3})
        shell(f"curl --fail-with-body -sS '{address}/wait-for?activity={activity}&key=minutes&timeout=20'")
    begin_anew(browser, "keyed-1")
    browser.run("document.getElementById('snippets').open = true; document.activeElement.blur(); location.hash = '#search=activity:keyed-2'")
    browser.until(key % "keyed-2" + " && document.querySelector('#snippet-list pre').innerText.includes('activity=keyed-2')", "the key of the phone that a search has chosen, and the commands for it")
    browser.run("location.hash = '#search=activity:order-404'")
    browser.until("document.getElementById('nothing').innerText === 'Nothing fits. mailboat dev knows only events of this run.' && !document.querySelector('#phones [aria-pressed=true]')", "an activity that is not here")
    browser.run("{ const field = document.getElementById('publish-activity'); field.value = 'typed-1'; field.dispatchEvent(new Event('input')); } location.hash = '#search=activity:keyed-1'")
    browser.until("document.querySelector('#phones [aria-pressed=true]')?.innerText.includes('keyed-1')", "the phone of the other search")
    if not browser.run(key % "typed-1"):
        sys.exit("check-dev-page: the key that somebody typed is lost")
    browser.run("location.hash = ''")


def say_where_an_event_goes(browser):
    """The key of an audience is not enough for an event to reach it: a sample is addressed to it, and another event gets a hint. What a link needs stands beside it."""
    use_key(browser, "keyed-1")
    write_sample(browser, "With an alert")
    hint = "document.getElementById('publish-warning')"
    browser.run("{ const field = document.getElementById('publish-activity'); field.value = 'match-7'; field.dispatchEvent(new Event('input')); }")
    browser.until("JSON.parse(document.getElementById('publish-event').value).to.audience === 'match-7'", "the sample to be for the audience")
    write(browser, {"event": "update", "content-state": {"minutes": 1}})
    browser.until(f"{hint}.innerText === 'match-7 is an audience of 320 phones. Without \"to\": {{\"audience\": \"match-7\"}} this goes to an activity of the same name.'", "what the key names")
    use_key(browser, "keyed-1")
    browser.until(f"{hint}.hidden", "the key of an activity")
    write(browser, {"event": "update", "to": {"audience": "match-7"}, "content-state": {"minutes": 1}})
    browser.until(f"{hint}.innerText.startsWith('\"to\" names the audience match-7, and the key is keyed-1')", "what the event names and the key does not")
    write_sample(browser, "Delivery")
    browser.run("document.querySelector('#entries summary').click()")
    browser.until("document.querySelector('#entries details[open] .body')?.innerText.includes('On another machine this needs --host and --expose.')", "what a link needs")
    browser.run("location.hash = ''")


def tell_of_a_new_token(browser, address, shell):
    """A new token is said at once; the button that registers it leaves its focus to the note."""
    choose_phone(browser, "keyed-1")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Change the token').click()")
    browser.until("document.querySelector('.phone-says .note').innerText.includes('The app has a new token that nobody has registered')", "the new token to be said")
    browser.run(f"{remedy('Register the new token')}.focus()")
    browser.press("Enter", 13, "\r")
    browser.until(f"!({remedy('Register the new token')}) && document.activeElement.matches('.phone-says .note')", "the note to have the focus")


def correct_an_event(browser):
    """Whoever skips to the form is at its beginning; what was wrong before does not stand beside what is missing now."""
    browser.run("document.getElementById('skip-publish').focus()")
    browser.press("Enter", 13, "\r")
    browser.until("document.activeElement.id === 'publish-activity'", "the key to have the focus")
    answer = "document.getElementById('publish-answer').innerText"
    browser.run("document.getElementById('publish-event').value = '{\"event\": \"nothing\"}'; document.getElementById('publish').requestSubmit()")
    browser.until(f"{answer}.includes('nothing')", "what is wrong with the event")
    browser.run("document.getElementById('publish-event').value = ''; document.getElementById('publish').requestSubmit()")
    browser.until(f"{answer} === '' && !document.getElementById('publish-event').ariaInvalid", "what was wrong before to go")
    write_sample(browser, "Delivery")


def be_started_again(browser, address, shell):
    """Nobody answers, then another process does: what was not sent is said until somebody answers, and what is gone is said to be. The search stays."""
    browser.run("location.hash = '#search=activity:keyed-1'")
    browser.until("document.getElementById('entry-count').innerText.includes('found')", "the search")
    stream = "document.dispatchEvent(new Event('visibilitychange'))"
    browser.run("window.followed = EventSource; window.EventSource = class { constructor() { window.another = this; } close() {} };" + stream)
    browser.run("window.asked = window.fetch; window.fetch = () => Promise.reject(new TypeError('Failed to fetch')); document.getElementById('publish').requestSubmit()")
    browser.until("document.getElementById('publish-answer').innerText === `Not sent: nobody answers at ${location.host}.`", "what was not sent")
    browser.run("window.fetch = asked; fetch('/api/state').then((answer) => answer.json()).then((state) => another.onmessage({ data: JSON.stringify({ ...state, run: 'another', entries: [], phones: [], phoneIDs: [] }) }))")
    restarted = "document.getElementById('restarted').innerText"
    browser.until(f"{restarted} === 'mailboat dev was started again; what it had listed is gone.' && location.hash === '#search=activity:keyed-1'", "the other process to be named")
    browser.run("window.EventSource = followed;" + stream)
    browser.until("document.getElementById('publish-answer').innerText === '' && document.getElementById('entry-count').innerText.includes('found') && document.querySelector('#phones [aria-pressed=true]').innerText.includes('keyed-1')", "somebody to answer again")
    publish(shell, address, "keyed-1", {"minutes": 2})
    browser.until(f"{restarted} === ''", "the list to begin anew")


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
    browser.until("document.getElementById('unlisted').innerText.includes('gets one with its next event')", "the page to say after a flood that phones come again")
