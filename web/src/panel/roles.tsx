// The dialog in which the user maps joints to the bones of a human, if names do not.

import { signal } from "@preact/signals";
import { report } from "../notes";
import type { Roles } from "../protocol";
import type { Store } from "../store";
import { Dialog, DialogButtons, Select } from "../ui";

type RolesByJoint = Record<string, string>;

/** A role as it is read: left upper arm. */
const formatRole = (role: string): string => role.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);

export class RolesDialog {
  private isOpen = signal(false);
  private answer = signal<Roles | undefined>(undefined);
  /** Roles that the user has chosen. */
  private chosen = signal<RolesByJoint>({});
  private reason = signal("");
  /** Roles that are known without the user. */
  private recognised: RolesByJoint = {};

  constructor(
    private store: Store,
    /** Called with roles by joint, where they differ from the recognised ones. */
    private onUse: (roles: RolesByJoint) => void,
  ) {}

  /** Open the dialog; `reason` says why the user is asked. */
  async show(reason: string): Promise<void> {
    const { found, recognised } = await this.store.connection.ask("roles", { roles: {} });
    this.recognised = recognised ? found : {};
    if (!reason) this.chosen.value = {};
    await this.suggest(reason);
    this.isOpen.value = true;
  }

  /** Request the roles that follow from the chosen ones. */
  private suggest(reason = ""): Promise<void> {
    return report(async () => {
      const roles = this.chosen.value;
      this.answer.value = await this.store.connection.ask("roles", { roles });
      this.reason.value = reason;
    });
  }

  private roleOf = (joint: string): string =>
    this.chosen.value[joint] ?? this.answer.value?.found[joint] ?? "";

  private close(value: string): void {
    if (value !== "yes") return;
    const { names } = this.store.clip.skeleton;
    const changed = names.filter((joint) => this.roleOf(joint) !== (this.recognised[joint] ?? ""));
    this.onUse(Object.fromEntries(changed.map((joint) => [joint, this.roleOf(joint)])));
  }

  View = () => {
    const { names } = this.store.clip.skeleton;
    const { roles, why } = this.answer.value ?? { roles: [], why: null };
    const reason = this.reason.value || why;
    const count = names.filter((joint) => this.roleOf(joint)).length;
    const options = [
      { name: "", label: "–" },
      ...roles.map((name) => ({ name, label: formatRole(name) })),
    ];
    const choose = (joint: string) => (role: string) => {
      this.chosen.value = { ...this.chosen.value, [joint]: role };
      void this.suggest();
    };
    return (
      <Dialog
        id="roles"
        label="Which joint is which"
        open={this.isOpen}
        onClose={(value) => this.close(value)}
      >
        <h2>Which joint is which</h2>
        <p>
          Choose an upper arm and an upper leg of one side: the rest is suggested, for you to
          correct.
        </p>
        <div class="rows">
          <table>
            {names.map((joint) => (
              <tr
                key={joint}
                class={this.roleOf(joint) && !(joint in this.chosen.value) ? "suggested" : ""}
              >
                <td>
                  <bdi>{joint}</bdi>
                </td>
                <td>
                  <Select
                    label={`Role of ${joint}`}
                    options={options}
                    value={this.roleOf(joint)}
                    onChoose={choose(joint)}
                  />
                </td>
                <td>suggested</td>
              </tr>
            ))}
          </table>
        </div>
        <p role="status" class={reason ? "missed" : "met"}>
          {reason || `A human, by ${count} joints.`}
        </p>
        <DialogButtons yes="Human limits" />
      </Dialog>
    );
  };
}
