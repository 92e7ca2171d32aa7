"""What the page of `mailboat dev` owes whoever writes an event: it leaves that alone, names what is wrong with it, and shows the phone that it reaches."""

import json
import sys

from dev_page_steps import begin_anew, choose_phone, open_tab, publish, write, write_sample


def use_all(browser, address, shell):
    browser.run("location.hash = '#tab=publish'")
    leave_what_is_written(browser, address, shell)
    keep_a_typed_key(browser)
    say_what_was_shown(browser, address, shell)
    see_a_member(browser, address, shell)
    browser.run("location.hash = ''")


def leave_what_is_written(browser, address, shell):
    """A phone that is chosen leaves alone what was written and its key, and offers its own key. A token of another phone is named. A new phone is offered alone."""
    key, text, offer, warning = (f"document.getElementById('publish-{name}')" for name in ("activity", "event", "use-key", "warning"))
    for activity in ("pizza-1", "kept-1"):
        publish(shell, address, activity, {"minutes": 3})
        shell(f"curl --fail-with-body -sS '{address}/wait-for?activity={activity}&key=minutes&timeout=20'")
    begin_anew(browser, "kept-1")
    draft = "document.getElementById('publish-sample').selectedOptions[0].text"
    sample = browser.run(f"{text}.value")
    if browser.run(draft) != "Delivery":
        sys.exit("check-dev-page: the menu does not name the sample")
    write(browser, {"event": "update", "content-state": {}})
    browser.until(f"{draft} === 'your own text'", "what has replaced the sample to be called one's own")
    browser.run(f"{{ {text}.value = {json.dumps(sample)}; {text}.dispatchEvent(new Event('input')); }}")
    browser.until(f"{draft} === 'Delivery'", "the sample to be named again")
    choose_phone(browser, "pizza-1")
    browser.until(f"{key}.value === 'pizza-1'", "the key to follow while nobody has written anything")
    browser.run("[...document.querySelectorAll('#phone button')].find((one) => one.innerText === 'Write its register event').click()")
    browser.until(f"{text}.value.includes('register') && document.getElementById('publish-sample').selectedOptions[0].text === 'your own text' && {warning}.hidden", "the register event, which is no sample")
    written = browser.run(f"{text}.value")
    choose_phone(browser, "kept-1")
    browser.until(f"{offer}.innerText === 'Use kept-1 as key' && !{offer}.hidden", "the other key to be offered")
    if browser.run(f"[{key}.value, {text}.value]") != ["pizza-1", written]:
        sys.exit("check-dev-page: a phone that is chosen takes the key from what was written")
    browser.run(f"{offer}.click()")
    browser.until(f"{key}.value === 'kept-1' && /^This token is the one of phone \\d+ \\(pizza-1\\)/.test({warning}.innerText)", "whose token it is")
    browser.reload()
    browser.until("document.getElementById('publish-sample').selectedOptions[0]?.text === 'your own text' && document.querySelector('#phones [aria-pressed=true]')", "no sample to be named for what was written")
    if browser.run(f"{text}.value") != written:
        sys.exit("check-dev-page: what was written is lost")
    write_sample(browser, "Delivery")
    browser.run(f"{key}.value = 'typed-2'; {key}.dispatchEvent(new Event('input'))")
    choose_phone(browser, "pizza-1")
    browser.until(f"{offer}.innerText === 'Use pizza-1 as key'", "the key to be offered beside the one that was typed")
    browser.run("location.hash = ''")
    shown = browser.run("document.querySelector('#phones [aria-pressed=true]').dataset.phone")
    publish(shell, address, "kept-2", {"minutes": 4})
    browser.until("document.getElementById('newcomer').innerText === 'A phone has come: kept-2'", "the new phone to be offered while somebody writes")
    if browser.run(f"[{key}.value, document.querySelector('#phones [aria-pressed=true]').dataset.phone]") != ["typed-2", shown]:
        sys.exit("check-dev-page: a new phone takes the view or the key from somebody who writes")
    browser.run("document.querySelector('#newcomer a').click()")
    browser.until("document.getElementById('newcomer').hidden", "the offer to be over")
    begin_anew(browser, "kept-1")


def keep_a_typed_key(browser):
    """A start keeps a key that somebody typed, and says which key it takes in place of another. What was said of a published event goes with its key and its text."""
    key, answer = (f"document.getElementById('publish-{name}')" for name in ("activity", "answer"))
    write_sample(browser, "Start by push")
    browser.until(f"{answer}.innerText.startsWith('kept-1 is in use, and a start needs a key of its own: the key is order-') && {key}.value.startsWith('order-')", "the key of a start to be named")
    browser.run(f"{key}.value = 'kept-1'; {key}.dispatchEvent(new Event('input'))")
    write_sample(browser, "Delivery")
    write_sample(browser, "Start by push")
    if browser.run(f"[{key}.value, {answer}.innerText, JSON.parse(document.getElementById('publish-event').value).attributes.order]") != ["kept-1", "", "kept-1"]:
        sys.exit("check-dev-page: a start replaces a key that somebody typed")
    for change in (f"{key}.value = 'other-3'; {key}.dispatchEvent(new Event('input'))", "document.getElementById('publish-event').dispatchEvent(new Event('input'))"):
        write(browser, {"event": "update", "content-state": {"minutes": 3}})
        browser.run(f"{key}.value = 'kept-1'; document.getElementById('publish').requestSubmit()")
        browser.until(f"{answer}.innerText.startsWith('Published for kept-1: ')", "the event to be published")
        browser.run(change)
        browser.until(f"{answer}.innerText === ''", "what was said of another event to go")
    begin_anew(browser, "kept-1")


def say_what_was_shown(browser, address, shell):
    """What a push brought was shown until the next. A card that has ended is listed so. The clock goes on by itself. A replaced phone leads to the other."""
    publish(shell, address, "kept-1", {"minutes": 2})
    shell(f"curl --fail-with-body -sS '{address}/wait-for?activity=kept-1&key=minutes&value=2&timeout=20'")
    browser.run("location.hash = '#search=activity:kept-1 is:event'")
    line = "[...document.querySelectorAll('#entries > li')].find((one) => one.innerText.includes('minutes: 3'))"
    browser.until(f"document.getElementById('entry-count').innerText.endsWith('found') && {line}", "the first event")
    browser.run(f"{line}.querySelector('summary').click()")
    browser.until(f"/The card showed it until the push of \\d\\d:\\d\\d:\\d\\d\\./.test({line}?.querySelector('.body').innerText)", "until when the first push was shown")
    browser.run("location.hash = ''")
    choose_phone(browser, "kept-1")
    publish(shell, address, "kept-1", {"minutes": 0}, event="end")
    browser.until("document.querySelector('#phone-list [aria-pressed=true] .badge')?.innerText === 'ended'", "the card that has ended to be listed so")
    browser.run("document.querySelector('.lock-time').textContent = 'late'")
    browser.until("/^\\d\\d:\\d\\d$/.test(document.querySelector('.lock-time').textContent)", "the clock to go on")
    choose_phone(browser, "pizza-1")
    shell(f"curl -fsS '{address}/events?activity=pizza-1' -d '{{\"event\": \"register\", \"token\": \"{'6b' * 16}\"}}'")
    browser.until("document.querySelector('.phone-facts').innerText.includes('6b6b6b6b')", "the phone that takes the activity over to be chosen")
    browser.run("history.back()")
    browser.until("/^phone \\d+$/.test(document.querySelector('.phone-says .note a')?.innerText)", "the other phone to be named")
    browser.run("document.querySelector('.phone-says .note a').click()")
    browser.until("document.querySelector('.phone-facts').innerText.includes('6b6b6b6b')", "the other phone")
    browser.run("location.hash = ''")


def see_a_member(browser, address, shell):
    """The member that somebody asks for is shown, and named by its number. What is published for the activity shows the activity's own phone."""
    pressed = "document.querySelector('#phones [aria-pressed=true]')?.innerText"
    open_tab(browser, "Audiences")
    browser.run("document.getElementById('audience-member').value = '300'; [...document.querySelectorAll('.audience button')].find((one) => one.innerText === 'Show the card of member').click()")
    browser.until(f"{pressed}.startsWith('member 300 of match-7') && document.getElementById('newcomer').hidden", "the member that was asked for")
    browser.run("{ const canvas = document.querySelector('.audience canvas'); const box = canvas.getBoundingClientRect(); canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + 3, clientY: box.top + 3 })); }")
    browser.until(f"{pressed}.startsWith('member 1 of match-7')", "the member whose pixel was pressed")
    browser.run("[...document.querySelectorAll('.audience button')].find((one) => one.innerText === 'Write an event for it').click()")
    browser.until("document.getElementById('publish-sample').selectedOptions[0].text === 'your own text'", "an event that is no sample")
    write_sample(browser, "Match")
    browser.until("JSON.parse(document.getElementById('publish-event').value).to?.audience === 'match-7' && document.getElementById('publish-warning').hidden", "the sample to be for the audience")
    write(browser, {"event": "update", "content-state": {"minutes": 4}})
    browser.run("document.getElementById('publish').requestSubmit()")
    browser.until(f"{pressed}.startsWith('match-7') && document.querySelector('.lock-card').innerText.includes('4')", "the activity's own phone")
    begin_anew(browser, "match-1")
