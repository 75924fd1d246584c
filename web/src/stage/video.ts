// A film of one turn around what is seen, by the browser's own recorder.

const SECONDS = 5;
const FRAMES_A_SECOND = 30;
/** What browsers can write, the most common first. */
const KINDS = ["video/webm", "video/mp4"];

/** Record a canvas while it is turned once; `turn` turns it by an angle in radians. */
export async function recordTurn(
  canvas: HTMLCanvasElement,
  turn: (yaw: number) => void,
): Promise<Blob> {
  const kind = KINDS.find((each) => MediaRecorder.isTypeSupported(each));
  if (!kind) throw new Error("this browser cannot record a video");
  const recorder = new MediaRecorder(canvas.captureStream(FRAMES_A_SECOND), { mimeType: kind });
  const pieces: Blob[] = [];
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  const stopped = new Promise((done) => recorder.addEventListener("stop", done, { once: true }));
  recorder.start();
  const start = performance.now();
  let done = 0;
  while (done < 1) {
    const now = await new Promise<number>(requestAnimationFrame);
    const share = Math.min(Math.max((now - start) / (1000 * SECONDS), done), 1);
    turn(2 * Math.PI * (share - done));
    done = share;
  }
  recorder.stop();
  await stopped;
  return new Blob(pieces, { type: kind });
}
