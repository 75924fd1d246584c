// Elements of the page, made and found in one line.

type Attributes = Record<string, string | boolean>;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "string") made.setAttribute(name, value);
    else made.toggleAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export function find<Kind extends HTMLElement = HTMLElement>(selector: string): Kind {
  const one = document.querySelector<Kind>(selector);
  if (!one) throw new Error(`the page has no ${selector}`);
  return one;
}

export function button(
  text: string,
  label: string,
  act: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const made = element("button", { type: "button", title: label, ...attributes }, text);
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

/** Take a slider out of the hand that drags it: browsers let go of one that is disabled. */
export function letGo(slider: HTMLInputElement): void {
  slider.disabled = true;
  requestAnimationFrame(() => (slider.disabled = false));
}
