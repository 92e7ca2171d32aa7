"""Asks ports that take no password as pages of other sites would: every one of them has to refuse, and to go on serving whoever uses curl."""

import urllib.error
import urllib.request

# What a browser says when a page of somebody else's has it ask, or when a name of somebody else's leads to this machine.
FOREIGN = (
    ("a foreign Origin", {"origin": "http://evil.example"}), ("the Origin null", {"origin": "null"}), ("a foreign Host", {"host": "evil.example"}),
    ("Sec-Fetch-Site: cross-site", {"sec-fetch-site": "cross-site"}), ("Sec-Fetch-Site: same-site", {"sec-fetch-site": "same-site"}),
)


def ask(address, method, headers):
    body = b"" if method == "POST" else None
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data=body, method=method, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code


def check(base, reads, orders):
    """What is wrong with the port at an address such as http://localhost:2198, in a line each. `orders`: (method, path)."""
    faults = []
    for method, path in [("GET", path) for path in reads] + list(orders):
        for name, headers in FOREIGN:
            status = ask(base + path, method, headers)
            if status != 403:
                faults.append(f"{method} {base}{path} with {name} is answered with {status}, not refused")
    for path in reads:
        # By curl; by the page's own scripts; by somebody who types the address or follows a link.
        for headers in ({}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"},
                        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}):
            status = ask(base + path, "GET", headers)
            if status != 200:
                faults.append(f"GET {base}{path} with {headers or 'nothing special'} is answered with {status}")
    return faults
