"""The page behind a link to a file of an encrypted container, in Chromium: cases of EncryptedShareTests.

python3 shared_page.py saved LINK DIRECTORY NAME         the page saves the file as DIRECTORY/NAME
python3 shared_page.py refused LINK DIRECTORY SENTENCE   it says the sentence when it is to open the file, and saves none
python3 shared_page.py useless LINK DIRECTORY SENTENCE   it says the sentence at once, and opens nothing
python3 shared_page.py insecure LINK DIRECTORY SENTENCE  the same, where the page did not come over HTTPS
"""

import os
import sys

from browser import Page
from waiting import eventually

# Far more than any case needs on a machine that does nothing else.
LIMIT = 120
# Before it is loaded, the page has neither.
MESSAGE = "(document.querySelector('#message')?.textContent ?? '')"
BUTTON = "document.querySelector('#open')"


def check(case: str, link: str, directory: str, expected: str) -> None:
    with Page() as page:
        page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=directory)
        if case == "insecure":
            script = "Object.defineProperty(window, 'isSecureContext', { value: false })"
            page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.open(link)
        if case in ("useless", "insecure"):
            page.wait(f"{MESSAGE}.includes({expected!r})")
            assert page.evaluate(f"{BUTTON}.disabled")
        else:
            page.wait(f"{BUTTON}?.disabled === false", LIMIT)
            assert page.text("#size"), "the page shows no length"
            page.click("#open")
        if case == "refused":
            page.wait(f"{MESSAGE}.includes({expected!r})", LIMIT)
        if case == "saved":
            assert page.evaluate("document.querySelector('#name').textContent") == expected
            page.wait(f"{MESSAGE}.includes('was not changed')", LIMIT)
            # Under this name only when it is complete.
            eventually(lambda: os.path.exists(os.path.join(directory, expected)), limit=LIMIT)
            assert os.listdir(directory) == [expected]
        else:
            assert page.evaluate("document.querySelector('#save').hidden")
            assert os.listdir(directory) == []
        assert page.problems == [], page.problems


if __name__ == "__main__":
    check(*sys.argv[1:])
