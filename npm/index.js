// Joint limits in WebAssembly, compiled from the C header. See index.d.ts.

async function wasmBytes() {
  const url = new URL("./synovia.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

const BLOCK = 1024; // rotations copied and projected at once, which fit into the processor's cache

let compiled;

export async function loadLimits(bytes, { wasm } = {}) {
  if (wasm === undefined) compiled ??= wasmBytes().then((code) => WebAssembly.compile(code));
  const module = wasm === undefined ? await compiled : await WebAssembly.compile(wasm);
  return new Limits((await WebAssembly.instantiate(module, {})).exports, bytes);
}

function copy(from, to, start = 0) {
  if (ArrayBuffer.isView(to)) to.set(from, start);
  else for (let k = 0; k < from.length; k++) to[start + k] = from[k];
  return to;
}

export class Limits {
  #c;
  #limits;
  #scratch; // three rotations and a distance
  #rows = new Map();
  #pose;
  #distances;
  #block; // rotations and distances of one block

  constructor(exports, bytes) {
    this.#c = exports;
    this.#c._initialize?.();
    const content = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    const at = this.#allocate(content.length);
    new Uint8Array(this.#c.memory.buffer, at, content.length).set(content);
    this.#limits = this.#allocate(16);
    const error = this.#c.synovia_load(this.#limits, at, content.length);
    if (error !== 0) throw new Error(`limits: ${this.#text(this.#c.synovia_error_text(error))}`);
    this.#scratch = this.#allocate(13 * 8);
    const count = this.#c.synovia_joint_count(this.#limits);
    this.joints = Array.from({ length: count }, (_, joint) => {
      const name = this.#c.synovia_joint_name(this.#limits, joint, this.#scratch);
      return this.#text(name, new DataView(this.#c.memory.buffer).getInt32(this.#scratch, true));
    });
    this.parents = Array.from(this.joints, (_, j) => this.#c.synovia_joint_parent(this.#limits, j));
    this.offsets = Array.from(this.joints, (_, j) => {
      this.#c.synovia_joint_offset(this.#limits, j, this.#scratch);
      return Array.from(this.#floats(this.#scratch, 3));
    });
    const rows = this.#c.synovia_limit_count(this.#limits);
    for (let row = 0; row < rows; row++) {
      this.#rows.set(this.joints[this.#c.synovia_limit_joint(this.#limits, row)], row);
    }
    this.#pose = this.#allocate(32 * Math.max(count, 1));
    this.#distances = this.#allocate(8 * Math.max(rows, 1));
  }

  get limited() {
    return [...this.#rows.keys()];
  }

  measuredFrom(joint) {
    const base = this.#c.synovia_limit_base(this.#limits, this.#row(joint));
    return base < 0 ? null : this.joints[base];
  }

  dependsOn(joint) {
    const driver = this.#c.synovia_limit_driver(this.#limits, this.#row(joint));
    return driver < 0 ? null : this.joints[driver];
  }

  contains(joint, rotation) {
    return this.#c.synovia_contains(this.#limits, this.#row(joint), this.#put(0, rotation)) === 1;
  }

  distance(joint, rotation) {
    return this.#c.synovia_distance(this.#limits, this.#row(joint), this.#put(0, rotation));
  }

  project(joint, rotation, out = [0, 0, 0, 0]) {
    const to = this.#scratch + 32;
    this.#c.synovia_project(this.#limits, this.#row(joint), this.#put(0, rotation), to);
    return copy(this.#floats(to, 4), out);
  }

  projectMany(joint, rotations, out = new Float64Array(rotations.length)) {
    const [row, count] = [this.#row(joint), rotations.length / 4];
    if (!Number.isInteger(count)) throw new Error(`4 numbers a rotation, got ${rotations.length}`);
    const input = ArrayBuffer.isView(rotations) ? rotations : Float64Array.from(rotations);
    this.#block ??= this.#allocate(40 * BLOCK);
    for (let start = 0; start < count; start += BLOCK) {
      const n = Math.min(BLOCK, count - start);
      this.#floats(this.#block, 4 * n).set(input.subarray(4 * start, 4 * (start + n)));
      this.#c.synovia_project_many(this.#limits, row, this.#block, this.#block, this.#block + 32 * BLOCK, n);
      copy(this.#floats(this.#block, 4 * n), out, 4 * start);
    }
    return out;
  }

  firstExit(joint, previous, proposed) {
    const [from, to] = [this.#put(0, previous), this.#put(1, proposed)];
    return this.#c.synovia_first_exit(this.#limits, this.#row(joint), from, to);
  }

  projectPose(rotations) {
    const count = 4 * this.joints.length;
    if (rotations.length !== count) throw new Error(`expected ${count} numbers, got ${rotations.length}`);
    this.#floats(this.#pose, count).set(rotations);
    const outside = this.#c.synovia_project_pose(this.#limits, this.#pose, this.#distances);
    copy(this.#floats(this.#pose, count), rotations);
    return outside;
  }

  soften(joint, rotation, radius, falloff = 1, out = [0, 0, 0, 0]) {
    const to = this.#scratch + 32;
    this.#c.synovia_soften(this.#limits, this.#row(joint), this.#put(0, rotation), radius, falloff, to);
    return copy(this.#floats(to, 4), out);
  }

  lookAt(rotations, first, last, target, { axis = [0, 0, 1], point = [0, 0, 0] } = {}) {
    const [from, to] = [this.#joint(first), this.#joint(last)];
    const remaining = this.#solve(rotations, [axis, point, target], (pose, [a, b, c]) =>
      this.#c.synovia_look_at(this.#limits, pose, from, to, a, b, c, this.#distances),
    );
    if (remaining < 0) throw new Error(`${last} must be ${first} or below it, and the axis not 0`);
    return remaining;
  }

  twoBone(rotations, end, target, { point = [0, 0, 0], pole = [0, 0, 0] } = {}) {
    const joint = this.#joint(end);
    const remaining = this.#solve(rotations, [point, target, pole], (pose, [a, b, c]) =>
      this.#c.synovia_two_bone(this.#limits, pose, joint, a, b, c, this.#distances),
    );
    if (remaining < 0) throw new Error(`there are no two bones above ${end}`);
    return remaining;
  }

  #solve(rotations, vectors, call) {
    const count = 4 * this.joints.length;
    if (rotations.length !== count) throw new Error(`expected ${count} numbers, got ${rotations.length}`);
    this.#floats(this.#pose, count).set(rotations);
    const pointers = vectors.map((vector, k) => {
      if (vector.length !== 3) throw new Error(`a vector has 3 numbers, got ${vector.length}`);
      this.#floats(this.#scratch + 24 * k, 3).set(vector);
      return this.#scratch + 24 * k;
    });
    const remaining = call(this.#pose, pointers);
    copy(this.#floats(this.#pose, count), rotations);
    return remaining;
  }

  #joint(name) {
    const joint = this.joints.indexOf(name);
    if (joint < 0) throw new Error(`no joint ${name}; there are ${this.joints.join(", ")}`);
    return joint;
  }

  #row(joint) {
    const row = this.#rows.get(joint);
    if (row === undefined) throw new Error(`no limit for ${joint}; there are ${this.limited.join(", ")}`);
    return row;
  }

  #put(slot, rotation) {
    if (rotation.length !== 4) throw new Error(`a rotation has 4 numbers, got ${rotation.length}`);
    const at = this.#scratch + 32 * slot;
    this.#floats(at, 4).set(rotation);
    return at;
  }

  #allocate(bytes) {
    const at = this.#c.malloc(bytes);
    if (at === 0) throw new Error(`no memory for ${bytes} bytes`);
    return at;
  }

  #floats(at, count) {
    return new Float64Array(this.#c.memory.buffer, at, count); // a new view, as memory that grows is replaced
  }

  #text(at, length) {
    const bytes = new Uint8Array(this.#c.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, length ?? bytes.indexOf(0)));
  }
}
