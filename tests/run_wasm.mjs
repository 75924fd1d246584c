// Runs one entry of the kernels in Node: node run_wasm.mjs kernels.wasm entry signature numbers.json
// Arguments are numbers, or arrays by their file, type and whether they come back.
import { readFileSync, writeFileSync } from "node:fs";

const [, , file, job] = process.argv;
const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
const { memory, allocate, count, name, types, run, _initialize } = instance.exports;
_initialize();

function text(at) {
  const bytes = new Uint8Array(memory.buffer, at);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

const numbers = new Map();
for (let entry = 0; entry < count(); entry++) numbers.set(text(name(entry)), entry);

for (const { entry, kinds, values } of JSON.parse(readFileSync(job, "utf8"))) {
  const number = numbers.get(entry);
  let signature = 0;
  while (text(types(number, signature)) !== kinds) signature++;
  const slots = allocate(32 * values.length);
  const results = allocate(32 * 8);
  const arrays = values.map((value) => {
    if (typeof value === "number") return null;
    const bytes = readFileSync(value.file);
    const at = allocate(Math.max(bytes.length, 1));
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return { at, size: bytes.length };
  });
  const view = new DataView(memory.buffer); // after all was allocated: memory that grows is another
  values.forEach((value, slot) => {
    if (arrays[slot] === null) {
      view.setFloat64(slots + 32 * slot, value, true);
      return;
    }
    view.setUint32(slots + 32 * slot, arrays[slot].at, true);
    value.shape.forEach((n, axis) => {
      view.setBigInt64(slots + 32 * slot + 8 * (axis + 1), BigInt(n), true);
    });
  });
  run(number, signature, slots, results);
  values.forEach((value, slot) => {
    if (arrays[slot] === null || !value.back) return;
    const { at, size } = arrays[slot];
    writeFileSync(value.file, new Uint8Array(memory.buffer.slice(at, at + size)));
  });
}
