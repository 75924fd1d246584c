// A tour of three steps for new users; once it is left, it is not offered again.

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { recall, remember } from "./browser";
import type { Mode } from "./store";
import { Button, find, focusStage } from "./ui";

interface Step {
  title: string;
  text: string;
  /** The selector of the element that is outlined. */
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

const LEFT = "tour"; // the name of the cookie

export class Tour {
  /** The index of the step that is shown. */
  private index = signal<number | undefined>(undefined);

  constructor(private enterMode: (mode: Mode) => void) {
    const place = document.createElement("div");
    find("main").append(place);
    render(<this.Card />, place);
    effect(() => {
      const step = STEPS[this.index.value ?? -1];
      for (const { about } of STEPS)
        document.querySelector(about)?.classList.toggle("toured", about === step?.about);
    });
  }

  /** Begin, unless the user has left the tour before. */
  offer(): void {
    if (recall(LEFT) === null) this.begin();
  }

  begin(): void {
    this.index.value = 0;
  }

  private go(index: number): void {
    const step = STEPS[index];
    if (!step) {
      this.leave();
      return;
    }
    this.enterMode(step.mode);
    this.index.value = index;
  }

  private leave(): void {
    remember(LEFT, "left");
    this.index.value = undefined;
    focusStage();
  }

  private Card = () => {
    const card = useRef<HTMLElement>(null);
    const index = this.index.value;
    useLayoutEffect(() => card.current?.querySelector<HTMLElement>(".next")?.focus(), [index]);
    const step = STEPS[index ?? -1];
    if (index === undefined || !step) return <section id="tour" hidden />;
    const isLast = index === STEPS.length - 1;
    return (
      <section
        id="tour"
        aria-label="Tour"
        ref={card}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          this.leave();
        }}
      >
        <small>{`${index + 1} of ${STEPS.length}`}</small>
        <h2>{step.title}</h2>
        <p>{step.text}</p>
        <div class="ways">
          <Button label="Leave the tour, for good (Esc)" onClick={() => this.leave()}>
            Leave the tour
          </Button>
          <Button label="Previous step" hidden={index === 0} onClick={() => this.go(index - 1)}>
            Back
          </Button>
          <Button
            class="next"
            label={isLast ? "End the tour" : "Next step"}
            onClick={() => this.go(index + 1)}
          >
            {isLast ? "Done" : "Next"}
          </Button>
        </div>
      </section>
    );
  };
}
