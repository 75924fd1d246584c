// A tour of three steps for who is here for the first time; who leaves it is not asked again.

import { recall, remember } from "./browser";
import { button, element, find } from "./elements";
import type { Mode } from "./modes";

interface Step {
  title: string;
  text: string;
  /** What the step is about; it is framed while one reads. */
  about: string;
  mode: Mode;
}

const STEPS: Step[] = [
  {
    title: "Where a joint may go",
    text: "The patch on the sphere is where the upper arm may point, and its colour how far it may twist there. Drag to turn the view; click another joint to see its own.",
    about: "main",
    mode: "look",
  },
  {
    title: "Pull it",
    text: "In Try, drag the hand: shoulder blade and collar bone go along, and nothing leaves its limit. Ctrl Z takes it back.",
    about: "#modes",
    mode: "try",
  },
  {
    title: "Bring your own",
    text: "Drop a clip on the page, or open one in Files: the strip below shows when a joint is outside. Edit changes what it may do.",
    about: "#files",
    mode: "look",
  },
];

const LEFT = "tour";

export class Tour {
  private card = element("section", { id: "tour", "aria-label": "Tour", hidden: true });
  private at = 0;

  constructor(private enterMode: (mode: Mode) => void) {
    find("main").append(this.card);
    this.card.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.leave();
    });
  }

  /** Begin, unless it was left before. */
  offer(): void {
    if (recall(LEFT) === null) this.begin();
  }

  begin(): void {
    this.at = 0;
    this.card.hidden = false;
    this.show();
  }

  private go(by: number): void {
    this.at += by;
    const step = STEPS[this.at];
    if (!step) {
      this.leave();
      return;
    }
    this.enterMode(step.mode);
    this.show();
  }

  /** End the tour, for good. */
  private leave(): void {
    remember(LEFT, "left");
    this.card.hidden = true;
    this.mark(undefined);
    find("#stage").focus();
  }

  private mark(about: string | undefined): void {
    for (const each of document.querySelectorAll(".toured")) each.classList.remove("toured");
    if (about) document.querySelector(about)?.classList.add("toured");
  }

  private show(): void {
    const step = STEPS[this.at];
    if (!step) return;
    const last = this.at === STEPS.length - 1;
    const next = button(last ? "Done" : "Next", last ? "End the tour" : "Next step", () =>
      this.go(1),
    );
    next.className = "next";
    const back = button("Back", "Step before", () => this.go(-1));
    back.hidden = this.at === 0;
    this.card.replaceChildren(
      element("small", {}, `${this.at + 1} of ${STEPS.length}`),
      element("h2", {}, step.title),
      element("p", {}, step.text),
      element(
        "div",
        { class: "ways" },
        button("Leave the tour", "Leave the tour, for good (Esc)", () => this.leave()),
        back,
        next,
      ),
    );
    this.mark(step.about);
    next.focus();
  }
}
