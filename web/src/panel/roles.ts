// Which joint is which, where names do not tell: given by hand, and what follows from it.

import type { Connection } from "../connection";
import { element, find } from "../elements";
import { showMessage } from "../notes";

export class RolesDialog {
  private dialog = element("dialog", { id: "roles", "aria-label": "Which joint is which" });
  private reason = element("p", { role: "status" });
  private lists: HTMLSelectElement[] = [];
  /** What somebody has chosen, by joint. */
  private said: Record<string, string> = {};
  /** What is known without that. */
  private recognised: Record<string, string> = {};

  constructor(
    private connection: Connection,
    private joints: string[],
    /** Told of roles by joint, where they are others than recognised. */
    private use: (roles: Record<string, string>) => void,
  ) {
    find("body").append(this.dialog);
    this.dialog.addEventListener("close", () => {
      if (this.dialog.returnValue !== "yes") return;
      const chosen = this.lists.map((list) => [list.dataset.joint ?? "", list.value] as const);
      this.use(
        Object.fromEntries(
          chosen.filter(([joint, role]) => role !== (this.recognised[joint] ?? "")),
        ),
      );
    });
  }

  /** Show the joints and the roles that they seem to have; `reason` is why somebody is asked. */
  async open(reason: string): Promise<void> {
    const { roles, found, recognised } = await this.connection.ask("roles", { roles: {} });
    this.recognised = recognised ? found : {};
    if (!reason) this.said = {};
    this.lists = this.joints.map((joint) => this.createList(joint, roles));
    const form = element(
      "form",
      { method: "dialog" },
      element("button", {}, "Cancel"),
      element("button", { class: "first", value: "yes" }, "Human limits"),
    );
    this.dialog.replaceChildren(
      element("h2", {}, "Which joint is which"),
      element(
        "p",
        {},
        "Name an upper arm and an upper leg of one side: the rest is suggested, to be put right.",
      ),
      element(
        "div",
        { class: "rows" },
        element("table", {}, ...this.lists.map((list) => createRow(list))),
      ),
      this.reason,
      form,
    );
    this.dialog.returnValue = "";
    this.dialog.showModal();
    await this.suggest(reason);
  }

  private createList(joint: string, roles: string[]): HTMLSelectElement {
    const list = element("select", { "aria-label": `Role of ${joint}`, "data-joint": joint });
    list.append(
      element("option", { value: "" }, "–"),
      ...roles.map((role) => element("option", { value: role }, formatRole(role))),
    );
    list.addEventListener("change", () => {
      this.said[joint] = list.value;
      void this.suggest("");
    });
    return list;
  }

  /** Show what follows from what was chosen. */
  private async suggest(reason: string): Promise<void> {
    try {
      const { found, why } = await this.connection.ask("roles", { roles: this.said });
      for (const list of this.lists) {
        const joint = list.dataset.joint ?? "";
        list.value = this.said[joint] ?? found[joint] ?? "";
        const suggested = list.value !== "" && !(joint in this.said);
        list.closest("tr")?.classList.toggle("suggested", suggested);
      }
      const known = this.lists.filter(({ value }) => value).length;
      this.reason.textContent = reason || why || `A human, by ${known} joints.`;
      this.reason.className = reason || why ? "missed" : "met";
    } catch (error) {
      showMessage((error as Error).message, false);
    }
  }
}

function createRow(list: HTMLSelectElement): HTMLElement {
  const name = element("td", {}, element("bdi", {}, list.dataset.joint ?? ""));
  return element("tr", {}, name, element("td", {}, list), element("td", {}, "suggested"));
}

/** Of a role, as it is read: left upper arm. */
const formatRole = (role: string): string => role.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
