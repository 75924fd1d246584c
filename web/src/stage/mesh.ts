// Triangles from a walk over them, and points from where it guesses them: see Python's connectivity.

/** Codes for the third corner of a triangle; also: 2, the one before, else there is no triangle. */
const [NEW, AFTER, BEFORE, OTHER] = [0, 1, 2, 3];
const WIDEST = 65536;

/** A mesh as it is sent: codes and vertices they stand for, points as low and high bytes. */
export interface PackedMesh {
  codes: Uint8Array;
  others: Uint16Array;
  points: Uint8Array;
}

/** How far several meshes are read, which follow each other. */
export class MeshReader {
  private code = 0;
  private other = 0;
  private vertex = 0;

  constructor(private packed: PackedMesh) {}

  /** Read the next mesh, of so many vertices and triangles, at steps of this size. */
  read(vertices: number, triangles: number, step: number) {
    const { corners, bases } = this.readTriangles(vertices, triangles);
    return { corners, points: this.readPoints(vertices, bases, step) };
  }

  private readTriangles(vertices: number, triangles: number) {
    const { codes, others } = this.packed;
    const corners = new Uint32Array(3 * triangles);
    const bases = new Int32Array(3 * vertices).fill(-1);
    const open = new Map<number, number>();
    const after = new Int32Array(vertices).fill(-1);
    const before = new Int32Array(vertices).fill(-1);
    const gates: number[] = [];
    let [met, at, last] = [0, 0, -1];
    const shut = (start: number, end: number): boolean => {
      const key = start * WIDEST + end;
      const count = open.get(key) ?? 0;
      if (count === 0) return false;
      open.set(key, count - 1);
      return true;
    };
    const goOn = (start: number, end: number, base: number): void => {
      if (shut(start, end)) return;
      const key = end * WIDEST + start;
      open.set(key, (open.get(key) ?? 0) + 1);
      after[end] = start;
      before[start] = end;
      gates.push(end, start, base);
    };
    const begin = (): number => {
      const code = codes[this.code++];
      if (code === NEW) bases[3 * met] = last;
      last = code === NEW ? met++ : (others[this.other++] ?? 0);
      return last;
    };
    while (at < corners.length) {
      const [a, b, c] = [begin(), begin(), begin()];
      corners.set([a, b, c], at);
      at += 3;
      goOn(a, b, c);
      goOn(b, c, a);
      goOn(c, a, b);
      while (gates.length) {
        const base = gates.pop() as number;
        const end = gates.pop() as number;
        const start = gates.pop() as number;
        if (!shut(start, end)) continue;
        const code = codes[this.code++];
        let third = -1;
        if (code === NEW) {
          bases[3 * met] = start;
          bases[3 * met + 1] = end;
          bases[3 * met + 2] = base;
          third = met++;
        } else if (code === AFTER) third = after[end] ?? -1;
        else if (code === BEFORE) third = before[start] ?? -1;
        else if (code === OTHER) third = others[this.other++] ?? -1;
        else continue;
        last = third;
        corners[at++] = start;
        corners[at++] = end;
        corners[at++] = third;
        goOn(end, third, start);
        goOn(third, start, end);
      }
    }
    return { corners, bases };
  }

  private readPoints(vertices: number, bases: Int32Array, step: number): Float32Array {
    const { points } = this.packed;
    const total = points.length / 6;
    const whole = new Int32Array(3 * vertices);
    const placed = new Float32Array(3 * vertices);
    for (let i = 0; i < vertices; i++) {
      const a = 3 * (bases[3 * i] as number);
      const b = 3 * (bases[3 * i + 1] as number);
      const c = 3 * (bases[3 * i + 2] as number);
      for (let axis = 0; axis < 3; axis++) {
        const place = axis * total + this.vertex + i;
        const folded = (points[place] as number) | ((points[3 * total + place] as number) << 8);
        let at = folded & 1 ? -((folded + 1) >> 1) : folded >> 1;
        if (a >= 0) at += whole[a + axis] as number;
        if (b >= 0) at += whole[b + axis] as number;
        if (c >= 0) at -= whole[c + axis] as number;
        whole[3 * i + axis] = at;
        placed[3 * i + axis] = at * step;
      }
    }
    this.vertex += vertices;
    return placed;
  }
}

/**
 * Unit normals of vertices, each triangle counting by its area: as three.js has them, but sooner. It
 * runs once, and before a compiler has come to it: so there is no array and no call in the loop.
 */
export function vertexNormals(positions: Float32Array, indices: Uint32Array): Float32Array {
  const normals = new Float32Array(positions.length);
  for (let i = 0; i < indices.length; i += 3) {
    const a = 3 * (indices[i] as number);
    const b = 3 * (indices[i + 1] as number);
    const c = 3 * (indices[i + 2] as number);
    const bx = positions[b] as number;
    const by = positions[b + 1] as number;
    const bz = positions[b + 2] as number;
    const ux = (positions[c] as number) - bx;
    const uy = (positions[c + 1] as number) - by;
    const uz = (positions[c + 2] as number) - bz;
    const vx = (positions[a] as number) - bx;
    const vy = (positions[a + 1] as number) - by;
    const vz = (positions[a + 2] as number) - bz;
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    normals[a] = (normals[a] as number) + x;
    normals[a + 1] = (normals[a + 1] as number) + y;
    normals[a + 2] = (normals[a + 2] as number) + z;
    normals[b] = (normals[b] as number) + x;
    normals[b + 1] = (normals[b + 1] as number) + y;
    normals[b + 2] = (normals[b + 2] as number) + z;
    normals[c] = (normals[c] as number) + x;
    normals[c + 1] = (normals[c + 1] as number) + y;
    normals[c + 2] = (normals[c + 2] as number) + z;
  }
  for (let i = 0; i < normals.length; i += 3) {
    const x = normals[i] as number;
    const y = normals[i + 1] as number;
    const z = normals[i + 2] as number;
    const length = Math.sqrt(x * x + y * y + z * z) || 1;
    normals[i] = x / length;
    normals[i + 1] = y / length;
    normals[i + 2] = z / length;
  }
  return normals;
}
