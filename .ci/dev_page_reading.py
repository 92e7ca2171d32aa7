"""What the page of `mailboat dev` owes whoever reads it: nothing hides a line, and what it says of a phone is what a server should do."""

from dev_page_steps import begin_anew, choose_phone, open_tab, publish, remedy, write
from page_audit import set_window


def use_all(browser, address, shell):
    browser.run("location.hash = ''")
    see_the_open_line(browser)
    see_what_the_search_leaves_out(browser, address, shell)
    open_tabs_at_their_top(browser)
    leave_a_line(browser)
    end_a_card(browser, address, shell)
    warn_of_broken_commands(browser)
    browser.run("location.hash = ''")


HEAD_SEEN = """(() => { const head = document.querySelector('#entries details[open] > summary'); if (!head) return false;
    const box = head.getBoundingClientRect();
    return [3, box.height - 3].every((down) => head.contains(document.elementFromPoint(box.left + 30, box.top + down))); })()"""


def see_the_open_line(browser):
    """The head of a line that was opened, by a click or by a link, stays clear of what is pinned above the lines."""
    for window in ("desktop", "phone"):
        set_window(browser, window)
        open_tab(browser, "Timeline" if window == "phone" else "Publish")
        browser.run("document.querySelectorAll('#entries summary')[0].focus()")
        for place in (12, 25):
            browser.run(f"document.querySelectorAll('#entries summary')[{place}].click()")
            browser.until(f"document.querySelector('#entries details[open] .body pre') && {HEAD_SEEN}", f"the head of line {place} to be seen once it is open, on a {window}")
        browser.reload()
        browser.until(f"document.querySelector('#entries details[open] .body pre') && !document.getElementById('newest').hidden && {HEAD_SEEN}", f"the head of a line that a link opens to be seen, on a {window}")
        browser.run("location.hash = ''")
    set_window(browser, "desktop")


def see_what_the_search_leaves_out(browser, address, shell):
    """The newest event is seen although a search leaves it out, and leads to its line. One that is found stands in the list alone."""
    pinned = "document.getElementById('newest')"
    publish(shell, address, "left-in", {"minutes": 3})
    browser.run("document.getElementById('timeline').scrollTop = 0; location.hash = '#search=activity:left-in'")
    browser.until(f"document.getElementById('entry-count').innerText.endsWith('found') && {pinned}.hidden", "the search, and nothing else")
    publish(shell, address, "left-in", {"minutes": 2})
    browser.until(f"document.getElementById('entries').innerText.includes('minutes: 2') && {pinned}.hidden", "a newer line of the search")
    publish(shell, address, "left-out", {"minutes": 1})
    browser.until(f"!{pinned}.hidden && {pinned}.innerText.startsWith('Not among what is searched for.') && {pinned}.innerText.includes('left-out') && {pinned}.innerText.includes('shown')", "what the search leaves out")
    # Behind a tab, the newest line is what it is on its own account.
    set_window(browser, "phone")
    open_tab(browser, "Publish")
    publish(shell, address, "left-in", {"minutes": 0})
    browser.until(f"{pinned}.innerText.includes('left-in') && !{pinned}.innerText.includes('Not among')", "what the search finds to be the newest, behind a tab")
    publish(shell, address, "left-out", {"minutes": 0})
    browser.until(f"{pinned}.innerText.startsWith('Not among what is searched for.') && {pinned}.innerText.includes('left-out')", "what the search leaves out, behind a tab")
    set_window(browser, "desktop")
    browser.run(f"{pinned}.querySelector('a').click()")
    browser.until("!location.hash.includes('search') && document.querySelector('#entries details[open]')?.innerText.includes('left-out')", "its line")
    browser.run("location.hash = ''")


def open_tabs_at_their_top(browser):
    set_window(browser, "phone")
    open_tab(browser, "Timeline")
    browser.run("scrollTo(0, 900)")
    browser.until("scrollY > 300", "the timeline to be scrolled")
    open_tab(browser, "App")
    browser.until("scrollY === 0", "a tab to open at its top")
    set_window(browser, "desktop")


def leave_a_line(browser):
    """Escape closes the line, and then ends the search."""
    browser.run("location.hash = '#search=activity:left-in'")
    browser.until("document.getElementById('entry-count').innerText.endsWith('found') && document.querySelector('#entries summary')", "the search")
    browser.run("document.querySelector('#entries summary').focus()")
    browser.press("Enter", 13, "\r")
    browser.until("document.querySelector('#entries details[open]')", "the line to be open")
    browser.press("Escape", 27)
    browser.until("!document.querySelector('#entries details[open]') && location.hash.includes('search=')", "Escape to close the line")
    browser.press("Escape", 27)
    browser.until("!location.hash.includes('search=')", "Escape to end the search")


def end_a_card(browser, address, shell):
    """A card that the user took away: the note says what app and server do, and a button does it. A removed app takes all cards of the device along."""
    note = "document.querySelector('.phone-says .note')"
    button = "[...document.querySelectorAll('#phone button')].find((one) => one.innerText === %r && !one.hidden)"
    publish(shell, address, "ended-1", {"eta": 817491900})
    choose_phone(browser, "ended-1")
    browser.until(f"{note}.className.includes('good') && document.getElementById('phone').innerText.includes('is right for a Date')", "the card with a date")
    browser.run((button % "Swipe the card away") + ".click()")
    browser.until(f"{note}.innerText.includes('which publishes {{\"event\": \"unregister\"}} with this key') && !document.getElementById('phone').innerText.includes('is right for a Date')", "what is to be done about a swiped card, and no word of its dates")
    browser.run(remedy("Publish unregister, as the server does") + ".click()")
    browser.until(f"{note}.innerText.includes('nothing more is sent to it') && !({remedy('Publish unregister, as the server does')})", "the registration to end")
    for name, more in (("device-a", {}), ("device-b", {"relevance-score": 80})):
        publish(shell, address, name, {"status": "Baking"}, event="start", to={"start-token": "7d" * 16}, alert={"title": "Order", "body": "Baking."}, **{"attributes-type": "A", "attributes": {}, **more})
        shell(f"curl --fail-with-body -sS '{address}/wait-for?activity={name}&key=status&timeout=20'")
    choose_phone(browser, "device-a")
    browser.until("document.querySelector('.phone-facts').innerText.endsWith('on one device with device-b, relevance 80')", "the relevance of the other card")
    browser.run((button % "Remove the app") + ".click()")
    browser.until(f"{note}.innerText.includes('The app was removed')", "the app to be removed")
    choose_phone(browser, "device-b")
    browser.until(f"{note}.innerText.includes('The app was removed') && document.querySelector('.screen').innerText.includes('The app was removed.')", "the other card of the app to be gone, too")
    publish(shell, address, "device-b", {"status": "Here"})
    browser.until(f"{note}.innerText.includes('410')", "the push to the removed app to be refused")


def warn_of_broken_commands(browser):
    """Commands for an event that is not JSON are not passed off as good ones."""
    open_tab(browser, "Publish")
    begin_anew(browser, "match-1")
    browser.run("document.getElementById('snippets').open = true")
    warning = "document.getElementById('snippet-list').innerText.includes('The event is not valid JSON')"
    browser.run("{ const text = document.getElementById('publish-event'); text.value = '{\"event\": '; text.dispatchEvent(new Event('input')); }")
    browser.until(warning, "broken JSON to be named")
    write(browser, {"event": "update", "content-state": {"minutes": 1}})
    browser.until(f"!{warning} && document.querySelector('#snippet-list pre')", "the commands for what is valid")
    begin_anew(browser, "match-1")
