"""Show a clip within its limits, on a page in the browser; close it when done."""

import sys

from synovia import LimitModel, show
from synovia.demo import range_of_motion, wild

model = LimitModel.fit([range_of_motion(600)], "box", "rotation-vector")
page = show(model, wild())
print(f"{len(page.model.limits)} joints have limits: {page.url}")
if sys.stdin.isatty():
    input("Press Enter to close the page. ")
page.close()
